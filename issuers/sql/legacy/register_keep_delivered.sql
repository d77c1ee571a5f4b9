-- A delivered legacy line stays, and only an entry of the register delivers one. Each
-- change is timed by the database's clock, after the transaction has its id. Runs as the
-- session, so that it knows who writes.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF OLD.status = 'DELIVERED' AND (TG_OP = 'DELETE' OR accounts_written_directly()
        -- The reference of a person who is erased.
        OR to_jsonb(NEW) - 'reference' IS DISTINCT FROM to_jsonb(OLD) - 'reference') THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    ELSIF TG_OP = 'DELETE' THEN
        RETURN OLD;
    ELSIF NEW.status = 'DELIVERED' AND accounts_written_directly() THEN
        RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_legacyshareholder FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_delivered();

-- A delivered legacy line stays, and only an entry of the register delivers one.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'register_keep_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'PENDING' THEN
            RAISE EXCEPTION 'Legacy shares begin as PENDING; the ledger delivers them.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status = 'DELIVERED' THEN
        RAISE EXCEPTION 'Legacy shares % are delivered, and their line stays. A '
            'mistake gets a reversal and, if need be, a new line.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'Legacy shares % are not delivered by the ledger.', OLD.id
        USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_delivered() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_delivered BEFORE INSERT OR DELETE
    ON public.issuers_legacyshareholder FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_delivered();

CREATE OR REPLACE TRIGGER register_keep_marked BEFORE UPDATE
    ON public.issuers_legacyshareholder FOR EACH ROW
    WHEN (old.status = 'DELIVERED' OR new.status = 'DELIVERED' AND
        public.accounts_written_directly())
    EXECUTE FUNCTION public.register_keep_delivered();

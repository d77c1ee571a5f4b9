-- A new account is PENDING and has no changes yet. Each change is timed by the
-- database's clock, after the transaction has its id.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'INSERT' AND (NEW.status <> 'PENDING' OR NEW.changes <> 0
        OR NEW.status_reason IS NOT NULL) THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_open_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT OR UPDATE
    ON public.accounts_account FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_open_account();

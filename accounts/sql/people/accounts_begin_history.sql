-- An account is committed with the first change of its history.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_begin_history()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM accounts_accountstatuschange WHERE account_id = NEW.id) THEN
        RAISE EXCEPTION 'Account % has no history; it begins with its opening.', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.accounts_begin_history() FROM PUBLIC;

DROP TRIGGER IF EXISTS accounts_begin_history ON public.accounts_account;
CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT
    ON public.accounts_account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.accounts_begin_history();

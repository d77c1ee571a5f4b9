-- A new account is PENDING and has no changes yet.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_open_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_account'::regclass THEN
        RAISE EXCEPTION 'accounts_open_account guards accounts_account, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.status <> 'PENDING' OR NEW.changes <> 0 OR NEW.status_reason IS NOT NULL THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_open_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT
    ON public.accounts_account FOR EACH ROW
    EXECUTE FUNCTION public.accounts_open_account();

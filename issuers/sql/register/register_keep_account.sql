-- A holder's ledger account names a profile of its user.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: accounts_userholder (FOR KEY SHARE)
CREATE OR REPLACE FUNCTION public.register_keep_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgeraccount'::regclass THEN
        RAISE EXCEPTION 'register_keep_account guards issuers_ledgeraccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_userholder
        WHERE id = NEW.holder_id AND user_id = NEW.user_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Profile % is not that of user %.', NEW.holder_id, NEW.user_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_account() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_account BEFORE INSERT
    ON public.issuers_ledgeraccount FOR EACH ROW WHEN (new.kind = 'HOLDER')
    EXECUTE FUNCTION public.register_keep_account();

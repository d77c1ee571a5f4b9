-- A user with a ledger account stays and keeps its id.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_user()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.id = OLD.id THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE user_id = OLD.id) THEN
        RAISE EXCEPTION 'User % has an account in the register, and stays.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_user() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_user BEFORE DELETE OR UPDATE OF id
    ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.register_keep_user();

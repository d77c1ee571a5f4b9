-- A holder profile with a ledger account stays its user's.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_keep_holder()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.user_id) = (OLD.id, OLD.user_id) THEN
        RETURN NEW;
    END IF;
    PERFORM accounts_read_committed();
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_holder() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_holder BEFORE DELETE OR UPDATE OF id, user_id
    ON public.accounts_userholder FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_holder();

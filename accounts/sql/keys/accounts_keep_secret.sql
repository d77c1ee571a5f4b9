-- Only a function of the owner gives a key another digest or pepper.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.accounts_keep_secret()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF current_user <> (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
            WHERE c.oid = TG_RELID) THEN
        RAISE EXCEPTION 'Key % keeps its digest: accounts_move_keys gives it another '
            'for what opens the one that it has.', OLD.last_four
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_secret() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_secret BEFORE UPDATE ON public.accounts_apikey
    FOR EACH ROW
    WHEN (new.secret_digest <> old.secret_digest OR new.pepper_id IS DISTINCT FROM
        old.pepper_id)
    EXECUTE FUNCTION public.accounts_keep_secret();

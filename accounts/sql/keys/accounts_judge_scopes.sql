-- Refuses an API key with a scope that is not a row of accounts_keyscope.
-- called by: triggers
-- raises: check_violation, insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_judge_scopes()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_apikey'::regclass THEN
        RAISE EXCEPTION
            'accounts_judge_scopes guards accounts_apikey, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NOT NEW.scopes <@ ARRAY(SELECT s.name FROM accounts_keyscope s) THEN
        RAISE EXCEPTION 'A key cannot have the scopes %: one of them is unknown. '
            'manage.py migrate writes the scopes of a new release.', NEW.scopes
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_judge_scopes() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_judge_scopes BEFORE INSERT
    ON public.accounts_apikey FOR EACH ROW
    EXECUTE FUNCTION public.accounts_judge_scopes();

-- Tells a partner that one of its keys changed.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.events_key_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (NEW.scopes, NEW.expires_at, NEW.revoked_at)
            IS NOT DISTINCT FROM (OLD.scopes, OLD.expires_at, OLD.revoked_at) THEN
        RETURN NULL;
    END IF;
    PERFORM events_write(NULL, ARRAY[coalesce(NEW.partner_id, OLD.partner_id)],
        ARRAY['KEY_CHANGED'], NULL, NULL, NULL, NULL);
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_key_changed() FROM PUBLIC;

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE OR UPDATE OF scopes,
        expires_at, revoked_at
    ON public.accounts_apikey FOR EACH ROW
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.events_key_changed();

-- Only a member of the role that owns the tables makes superusers.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF NEW.is_superuser AND OLD.is_superuser IS NOT TRUE AND NOT pg_has_role(
            (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE INSERT OR UPDATE
    ON public.accounts_user FOR EACH ROW
    EXECUTE FUNCTION public.accounts_keep_superusers();

-- Only a member of the role that owns the tables makes superusers.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.accounts_keep_superusers()
RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.accounts_keep_superusers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE UPDATE
    ON public.accounts_user FOR EACH ROW
    WHEN (new.is_superuser AND NOT old.is_superuser)
    EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER accounts_make_superuser BEFORE INSERT ON public.accounts_user
    FOR EACH ROW WHEN (new.is_superuser)
    EXECUTE FUNCTION public.accounts_keep_superusers();

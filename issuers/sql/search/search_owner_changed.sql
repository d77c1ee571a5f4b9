-- Keeps the terms of issuers whose owner has another name or LEI.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.search_owner_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_user'::regclass THEN
        RAISE EXCEPTION 'search_owner_changed guards accounts_user, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM search_refresh(id) FROM (
        SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_owner_changed() FROM PUBLIC;

DROP TRIGGER IF EXISTS search_owner_changed ON public.accounts_user;
CREATE CONSTRAINT TRIGGER search_owner_changed AFTER UPDATE OF company_name, lei
    ON public.accounts_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.company_name IS DISTINCT FROM new.company_name OR old.lei IS DISTINCT FROM
        new.lei)
    EXECUTE FUNCTION public.search_owner_changed();

-- At the commit: company data of a user are shown with its issuers, so their time moves
-- with it, and their terms are those of its name and LEI.
-- called by: triggers
-- locks: issuers_issuer (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.search_owner_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    IF (NEW.company_name, NEW.lei) IS DISTINCT FROM (OLD.company_name, OLD.lei) THEN
        PERFORM search_refresh(id) FROM (
            SELECT id FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id) i;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_owner_changed() FROM PUBLIC;

DROP TRIGGER IF EXISTS search_owner_changed ON public.accounts_user;
CREATE CONSTRAINT TRIGGER search_owner_changed AFTER UPDATE OF type, company_name, lei,
        legal_form, address, postal_code, city, country_id
    ON public.accounts_user DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (old.type IS DISTINCT FROM new.type OR old.company_name IS DISTINCT FROM
        new.company_name OR old.lei IS DISTINCT FROM new.lei OR old.legal_form IS
        DISTINCT FROM new.legal_form OR old.address IS DISTINCT FROM new.address OR
        old.postal_code IS DISTINCT FROM new.postal_code OR old.city IS DISTINCT FROM
        new.city OR old.country_id IS DISTINCT FROM new.country_id)
    EXECUTE FUNCTION public.search_owner_changed();

-- Company data of a user are shown with its issuers: their time moves with it.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: issuers_issuer (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.update_owned_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'accounts_user'::regclass THEN
        RAISE EXCEPTION 'update_owned_time guards accounts_user, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE owner_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET updated_at = clock_timestamp() WHERE owner_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_owned_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER update_owned_time AFTER UPDATE OF type, company_name, lei,
        legal_form, address, postal_code, city, country_id
    ON public.accounts_user FOR EACH ROW
    WHEN (old.type IS DISTINCT FROM new.type OR old.company_name IS DISTINCT FROM
        new.company_name OR old.lei IS DISTINCT FROM new.lei OR old.legal_form IS
        DISTINCT FROM new.legal_form OR old.address IS DISTINCT FROM new.address OR
        old.postal_code IS DISTINCT FROM new.postal_code OR old.city IS DISTINCT FROM
        new.city OR old.country_id IS DISTINCT FROM new.country_id)
    EXECUTE FUNCTION public.update_owned_time();

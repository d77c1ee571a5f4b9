-- Removes the terms of a deleted issuer.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.search_issuer_deleted()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'search_issuer_deleted guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.search_issuer_deleted() FROM PUBLIC;

CREATE OR REPLACE TRIGGER search_issuer_deleted AFTER DELETE ON public.issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION public.search_issuer_deleted();

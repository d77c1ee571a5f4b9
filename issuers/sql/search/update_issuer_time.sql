-- Times each change of an issuer by the database's clock, after the transaction has its
-- id.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.update_issuer_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'update_issuer_time guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_issuer_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION public.update_issuer_time();

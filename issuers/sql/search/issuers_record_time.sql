-- Times each change of an issuer, token or legacy line by the database's clock, after
-- the transaction has its id.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.issuers_record_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID NOT IN ('issuers_issuer'::regclass, 'issuers_token'::regclass,
        'issuers_legacyshareholder'::regclass) THEN
        RAISE EXCEPTION 'issuers_record_time times three tables, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.issuers_record_time() FROM PUBLIC;

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE
    ON public.issuers_legacyshareholder FOR EACH ROW
    EXECUTE FUNCTION public.issuers_record_time();

CREATE OR REPLACE TRIGGER update_time BEFORE INSERT OR UPDATE ON public.issuers_token
    FOR EACH ROW EXECUTE FUNCTION public.issuers_record_time();

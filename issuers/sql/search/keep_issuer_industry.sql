-- Keeps the subsector's code with the issuer.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: issuers_industryclassificationbenchmark (FOR KEY SHARE)
CREATE OR REPLACE FUNCTION public.keep_issuer_industry()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'keep_issuer_industry guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- This waits for a writer of the code, or that writer waits.
    SELECT subsector_code INTO NEW.industry_code
    FROM issuers_industryclassificationbenchmark
    WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.keep_issuer_industry() FROM PUBLIC;

CREATE OR REPLACE TRIGGER keep_industry BEFORE INSERT OR UPDATE OF
        industry_classification_benchmark_id, industry_code
    ON public.issuers_issuer FOR EACH ROW
    EXECUTE FUNCTION public.keep_issuer_industry();

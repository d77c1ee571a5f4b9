-- Keeps a changed code of a subsector with its issuers.
-- called by: triggers
-- raises: insufficient_privilege
-- locks: issuers_issuer (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.update_industry_of_issuers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_industryclassificationbenchmark'::regclass THEN
        RAISE EXCEPTION 'update_industry_of_issuers guards issuers_industryclassificationbenchmark, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NULL
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_industry_of_issuers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER update_industry AFTER UPDATE OF subsector_code
    ON public.issuers_industryclassificationbenchmark FOR EACH ROW
    WHEN (old.subsector_code IS DISTINCT FROM new.subsector_code)
    EXECUTE FUNCTION public.update_industry_of_issuers();

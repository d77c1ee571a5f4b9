-- Keeps a changed code of a subsector with its issuers.
-- called by: triggers
-- locks: issuers_issuer (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.update_industry_of_issuers()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM issuers_issuer WHERE industry_classification_benchmark_id = NEW.id
        ORDER BY id FOR NO KEY UPDATE;
    UPDATE issuers_issuer SET industry_code = NEW.subsector_code
        WHERE industry_classification_benchmark_id = NEW.id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.update_industry_of_issuers() FROM PUBLIC;

CREATE OR REPLACE TRIGGER update_industry AFTER UPDATE OF subsector_code
    ON public.issuers_industryclassificationbenchmark FOR EACH ROW
    WHEN (old.subsector_code IS DISTINCT FROM new.subsector_code)
    EXECUTE FUNCTION public.update_industry_of_issuers();

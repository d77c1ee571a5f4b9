-- An issuer with tokens stays, every issuer keeps its id, and the transaction that made
-- it is noted. It has the code of its subsector, and the database's time of its last
-- change, after the transaction has its id. Search terms go with it.
-- called by: triggers
-- raises: restrict_violation
-- locks: issuers_industryclassificationbenchmark (FOR KEY SHARE)
CREATE OR REPLACE FUNCTION public.register_keep_issuer()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_read_committed();
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        DELETE FROM issuers_issuerterm WHERE issuer_id = OLD.id;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug USING ERRCODE = 'restrict_violation';
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := (SELECT register_transaction(0));
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    IF TG_OP = 'INSERT' OR (NEW.industry_classification_benchmark_id,
            NEW.industry_code) IS DISTINCT FROM
            (OLD.industry_classification_benchmark_id, OLD.industry_code) THEN
        -- This waits for a writer of the code, or that writer waits.
        SELECT subsector_code INTO NEW.industry_code
        FROM issuers_industryclassificationbenchmark
        WHERE id = NEW.industry_classification_benchmark_id FOR KEY SHARE;
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_issuer() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_keep_issuer BEFORE INSERT OR DELETE OR UPDATE
    ON public.issuers_issuer FOR EACH ROW
    EXECUTE FUNCTION public.register_keep_issuer();

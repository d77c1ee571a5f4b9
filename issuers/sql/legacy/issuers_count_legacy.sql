-- Notes how many legacy lines each issuer gained or lost; accounts_fold_totals adds
-- them up at the commit.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        PERFORM accounts_count(ARRAY['legacyShareholders', 'legacyShareholders'],
            ARRAY[OLD.issuer_id, NEW.issuer_id], ARRAY[-1, 1]);
    ELSIF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg('legacyShareholders'::text),
            array_agg(issuer_id), array_agg(-number))
        FROM (SELECT issuer_id, count(*) AS number FROM changed GROUP BY issuer_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.issuers_count_legacy() FROM PUBLIC;

CREATE OR REPLACE TRIGGER issuers_count_legacy AFTER INSERT
    ON public.issuers_legacyshareholder REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION public.issuers_count_legacy();
ALTER TABLE public.issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy;

CREATE OR REPLACE TRIGGER issuers_count_legacy_less AFTER DELETE
    ON public.issuers_legacyshareholder REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION public.issuers_count_legacy();
ALTER TABLE public.issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy_less;

CREATE OR REPLACE TRIGGER issuers_count_legacy_moved AFTER UPDATE OF issuer_id
    ON public.issuers_legacyshareholder FOR EACH ROW
    WHEN (old.issuer_id <> new.issuer_id)
    EXECUTE FUNCTION public.issuers_count_legacy();
ALTER TABLE public.issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy_moved;

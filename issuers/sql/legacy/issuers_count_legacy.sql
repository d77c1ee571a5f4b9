-- Notes how many legacy lines each issuer gained or lost; accounts_fold_totals adds
-- them up at the commit. delivery_note_makers notes one that goes to another issuer.
-- called by: triggers
CREATE OR REPLACE FUNCTION public.issuers_count_legacy()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    PERFORM accounts_count(array_agg('legacyShareholders'::text), array_agg(issuer_id),
        array_agg(number))
    FROM (SELECT issuer_id, CASE TG_OP WHEN 'INSERT' THEN count(*) ELSE -count(*) END
        AS number FROM changed GROUP BY issuer_id) c
    HAVING count(*) > 0;
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

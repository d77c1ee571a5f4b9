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
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', OLD.issuer_id, -1 UNION ALL SELECT 'legacyShareholders', NEW.issuer_id, 1) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, -count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
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

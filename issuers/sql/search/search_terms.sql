-- Returns the terms by which an issuer is found, and whether only private tokens have
-- them.
-- called by: search_refresh
CREATE OR REPLACE FUNCTION public.search_terms(wanted uuid)
RETURNS TABLE(term text, name text, private boolean) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH said AS (
        SELECT left(search_fold(i.trading_name), 100) AS name, lower(u.lei) AS lei,
            search_fold(i.trading_name || ' ' || coalesce(u.company_name, '')) AS names
        FROM issuers_issuer i JOIN accounts_user u ON u.id = i.owner_id
        WHERE i.id = wanted
    ), identifiers (code, private, is_word) AS (
        SELECT lei, FALSE, TRUE FROM said WHERE lei IS NOT NULL
        UNION ALL
        SELECT lower(c.code), t.visibility = 'PRIVATE', c.is_word
        FROM issuers_token t
        CROSS JOIN LATERAL (VALUES (t.symbol, TRUE), (t.isin, FALSE)) c (code, is_word)
        WHERE t.issuer_id = wanted AND c.code IS NOT NULL
    ), terms (term, private) AS (
        SELECT '', FALSE
        UNION ALL SELECT '#' || code, private FROM identifiers
        UNION ALL SELECT b, FALSE FROM said, search_beginnings(names) b
        UNION ALL SELECT b, private FROM identifiers, search_beginnings(code) b
        WHERE is_word
    )
    SELECT t.term, s.name, bool_and(t.private) FROM terms t CROSS JOIN said s
    GROUP BY t.term, s.name;
END $$;
REVOKE ALL ON FUNCTION public.search_terms(uuid) FROM PUBLIC;

-- Refuses parameters that are not those of a kind, and countries that there are not.
-- called by: binds_preview_rule, binds_rule
-- raises: check_violation
CREATE OR REPLACE FUNCTION public.binds_check_rule(kind text, parameters jsonb)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    unknown text;
BEGIN
    IF register_rule_is_valid(kind, parameters) IS NOT TRUE THEN
        RAISE EXCEPTION '% are not parameters of %: token_rule_is_valid.', parameters,
            kind USING ERRCODE = 'check_violation';
    END IF;
    IF kind = 'COUNTRIES' THEN
        SELECT string_agg(named.code, ', ') INTO unknown
        FROM jsonb_path_query(parameters, '$.*[*]') AS said (code)
        CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
        WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    END IF;
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.binds_check_rule(text, jsonb) FROM PUBLIC;

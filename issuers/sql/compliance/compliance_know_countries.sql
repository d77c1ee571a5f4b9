-- A rule names countries that the table of countries has.
-- called by: triggers
-- raises: check_violation, insufficient_privilege
CREATE OR REPLACE FUNCTION public.compliance_know_countries()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    unknown text;
BEGIN
    IF TG_RELID <> 'issuers_tokenrule'::regclass THEN
        RAISE EXCEPTION 'compliance_know_countries guards issuers_tokenrule, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT string_agg(named.code, ', ') INTO unknown
    FROM jsonb_path_query(NEW.parameters, '$.*[*]') AS said (code)
    CROSS JOIN LATERAL (SELECT said.code #>> '{}' AS code) AS named
    WHERE NOT EXISTS (SELECT FROM accounts_country c WHERE c.code = named.code);
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION 'A rule names countries by ISO 3166-1: %.', unknown
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.compliance_know_countries() FROM PUBLIC;

CREATE OR REPLACE TRIGGER compliance_know_countries AFTER INSERT
    ON public.issuers_tokenrule FOR EACH ROW
    WHEN (new.kind = 'COUNTRIES' AND public.accounts_written_directly())
    EXECUTE FUNCTION public.compliance_know_countries();

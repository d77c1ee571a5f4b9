-- Whether a rule's parameters fit its kind.
-- called by: anyone, binds_check_rule
CREATE OR REPLACE FUNCTION public.register_rule_is_valid(kind text, parameters jsonb)
RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    name text;
    said jsonb;
BEGIN
    IF kind IN ('TRANSFERS_PAUSED', 'VERIFIED_HOLDERS', 'APPROVED_HOLDERS') THEN
        RETURN parameters = '{}';
    END IF;
    IF jsonb_typeof(parameters) <> 'object'
        OR (SELECT count(*) FROM jsonb_object_keys(parameters)) <> 1 THEN
        RETURN FALSE;
    END IF;
    SELECT key, value INTO name, said FROM jsonb_each(parameters);
    IF jsonb_typeof(said) = 'array' THEN
        RETURN jsonb_array_length(said) BETWEEN 1 AND 300
            AND CASE kind || ' ' || name
                WHEN 'COUNTRIES allowed' THEN TRUE
                WHEN 'COUNTRIES refused' THEN TRUE
                WHEN 'INVESTOR_CLASSES classes' THEN said <@
                    '["RETAIL", "INFORMED", "PROFESSIONAL", "ELIGIBLE_COUNTERPARTY"]'
                ELSE FALSE END
            AND NOT EXISTS (SELECT FROM jsonb_array_elements(said) AS e (one)
                WHERE jsonb_typeof(one) <> 'string'
                    OR kind = 'COUNTRIES' AND one #>> '{}' !~ '^[A-Z]{2}$');
    END IF;
    RETURN said::text ~ '^[1-9][0-9]{0,19}$' AND CASE kind || ' ' || name
        WHEN 'MAX_HOLDERS holders' THEN said::numeric < 2::numeric ^ 63
        WHEN 'MAX_BALANCE units' THEN said::numeric < 2::numeric ^ 64
        WHEN 'MAX_BALANCE bps' THEN said::numeric <= 10000
        ELSE FALSE END;
END $$;

-- Whether a profile is at least as good as the one before: verified, not after a
-- refusal, of the same country, of no lower class and valid no shorter.
-- called by: anyone, binds_attest
CREATE OR REPLACE FUNCTION public.accounts_raises(
    was text, was_until timestamp with time zone, was_country text, was_class text,
    verification text, verified_until timestamp with time zone, country text, class text
)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT verification = 'VERIFIED' AND coalesce(was, 'NONE') <> 'REFUSED'
        AND (was_country IS NULL OR was_country = country)
        AND array_position(classes, class) >= array_position(classes,
            coalesce(was_class, 'RETAIL'))
        AND (coalesce(was, 'NONE') <> 'VERIFIED' OR coalesce(verified_until, 'infinity')
            >= coalesce(was_until, 'infinity'))
    FROM (VALUES (ARRAY['RETAIL', 'INFORMED', 'PROFESSIONAL', 'ELIGIBLE_COUNTERPARTY']
        )) AS v (classes)
$$;

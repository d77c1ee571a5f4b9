-- The SHA-256 of an allotment, in hexadecimal digits: a line for each subscription, by
-- id, with its units and code.
-- called by: offerings_allot
CREATE OR REPLACE FUNCTION public.offerings_digest(
    subscriptions uuid[], units bigint[], codes text[]
)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT encode(sha256(convert_to(coalesce(string_agg(
        concat_ws(' ', g.id, g.units, g.code) || chr(10), '' ORDER BY g.id), ''),
        'UTF8')), 'hex')
    FROM unnest(subscriptions, units, codes) AS g (id, units, code);
$$;
REVOKE ALL ON FUNCTION public.offerings_digest(uuid[], bigint[], text[]) FROM PUBLIC;

-- Whether an ISIN has its form and its check digit (ISO 6166).
-- called by: anyone
CREATE OR REPLACE FUNCTION public.isin_is_valid(isin text)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
                SELECT isin ~ '^[A-Z]{2}[A-Z0-9]{9}[0-9]$'
                   AND (WITH expanded AS (
                            SELECT string_agg(
                                CASE WHEN c ~ '[0-9]' THEN c ELSE (ascii(c) - 55)::text END,
                                '' ORDER BY n) AS digits
                            FROM unnest(string_to_array(isin, NULL)) WITH ORDINALITY AS t(c, n))
                        SELECT sum(CASE WHEN n % 2 = 1 THEN d::int
                                        ELSE d::int * 2 / 10 + d::int * 2 % 10 END) % 10 = 0
                        FROM expanded,
                             unnest(string_to_array(reverse(digits), NULL)) WITH ORDINALITY AS t(d, n))
            $$;

-- Whether an LEI has its form and its check digits (ISO 17442).
-- called by: anyone
CREATE OR REPLACE FUNCTION public.lei_is_valid(lei text)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
                SELECT lei ~ '^[A-Z0-9]{18}[0-9]{2}$'
                   AND right(lei, 2) BETWEEN '02' AND '98'
                   AND (SELECT string_agg(
                            CASE WHEN c ~ '[0-9]' THEN c ELSE (ascii(c) - 55)::text END,
                            '' ORDER BY n)::numeric % 97 = 1
                        FROM unnest(string_to_array(lei, NULL)) WITH ORDINALITY AS t(c, n))
            $$;

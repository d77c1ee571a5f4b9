-- A text in lower case, without accents, with single spaces.
-- called by: anyone, search_terms
CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.btrim(pg_catalog.regexp_replace(
        pg_catalog.replace(pg_catalog.replace(
        pg_catalog.replace(pg_catalog.replace(
            pg_catalog.translate(
                pg_catalog.lower(pg_catalog.regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;

-- A text in lower case, without accents, with single spaces.
-- called by: anyone, search_terms
CREATE OR REPLACE FUNCTION public.search_fold(said text)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT btrim(regexp_replace(
        replace(replace(replace(replace(
            translate(
                lower(regexp_replace(
                    normalize(said, NFKD), '[\u0300-\u036f]', '', 'g')),
                'øłđðıħ', 'olddih'),
            'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
        '[\u0001-\u0020\u00a0\u2000-\u200b\u3000]+', ' ', 'g'))
$$;

-- The words of a folded text.
-- called by: anyone, search_beginnings
CREATE OR REPLACE FUNCTION public.search_words(folded text)
RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT array_remove(regexp_split_to_array(folded,
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'
    ), '')
$$;

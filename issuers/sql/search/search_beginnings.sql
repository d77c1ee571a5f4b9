-- The beginnings of each word (three to twenty letters) and each whole word, as search
-- terms.
-- called by: anyone, register_follow_token, search_terms
CREATE OR REPLACE FUNCTION public.search_beginnings(folded text)
RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT '=' || left(w, 20) FROM unnest(search_words(folded)) w
    UNION
    SELECT left(w, n) FROM unnest(search_words(folded)) w,
        generate_series(3, least(length(w), 20)) n
$$;

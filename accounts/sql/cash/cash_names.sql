-- Whether a bank line's text contains a reference, whatever its spaces and punctuation.
-- called by: cash_post
CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$
    SELECT pg_catalog.strpos(pg_catalog.regexp_replace(pg_catalog.upper(said),
        '[^A-Z0-9]', '', 'g'), reference) OPERATOR(pg_catalog.>) 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

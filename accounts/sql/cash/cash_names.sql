-- Whether a bank line's text contains a reference, whatever its spaces and punctuation.
-- called by: cash_follow_transactions, cash_post
CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT position(reference IN regexp_replace(upper(said), '[^A-Z0-9]', '', 'g')) > 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

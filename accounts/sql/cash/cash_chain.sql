-- Continues the SHA-256 chain of a cash account with its next lines.
-- called by: cash_post
CREATE OR REPLACE FUNCTION public.cash_chain(digest bytea, lines text[])
RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    said text;
BEGIN
    FOREACH said IN ARRAY lines LOOP
        digest := sha256(digest || convert_to(said, 'UTF8'));
    END LOOP;
    RETURN digest;
END $$;
REVOKE ALL ON FUNCTION public.cash_chain(bytea, text[]) FROM PUBLIC;

-- Continues the SHA-256 chain of a token's entries after a number.
-- called by: anyone, register_enter
CREATE OR REPLACE FUNCTION public.register_chain_entries(
    token uuid, after bigint, digest bytea
)
RETURNS bytea LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    said text;
BEGIN
    FOR said IN SELECT line FROM register_entry_lines
        WHERE token_id = token AND number > after ORDER BY number
    LOOP
        digest := register_chain(digest, said);
    END LOOP;
    RETURN digest;
END $$;

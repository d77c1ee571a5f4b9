-- The digest of a chain of entries after a line. A line that was redacted after a person
-- was erased has the digests before and after it.
-- called by: anyone, erasure_erase, register_chain_entries
CREATE OR REPLACE FUNCTION public.register_chain(digest bytea, line text)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT CASE WHEN pg_catalog.starts_with(line, '{"digestAfter":')
        AND (line::pg_catalog.json OPERATOR(pg_catalog.->>) 'digestBefore')
            OPERATOR(pg_catalog.=) pg_catalog.encode(digest, 'hex')
        THEN pg_catalog.decode(
            line::pg_catalog.json OPERATOR(pg_catalog.->>) 'digestAfter', 'hex')
        ELSE pg_catalog.sha256(digest OPERATOR(pg_catalog.||)
            pg_catalog.convert_to(line, 'UTF8')) END
$$;

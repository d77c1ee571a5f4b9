-- The part of a posting that only the platform reads, as canonical JSON (RFC 8785).
-- called by: anyone, cash_entry_lines, cash_post
CREATE OR REPLACE FUNCTION public.cash_entry_detail(
    actor text, assigns bigint, bank_line text, reason text, reverses bigint,
    transaction bigint, withdrawal uuid
)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.concat('{"actor":', pg_catalog.to_json(actor), ',"assigns":',
        coalesce('"' OPERATOR(pg_catalog.||) assigns::pg_catalog.text
            OPERATOR(pg_catalog.||) '"', 'null'),
        ',"bankLine":', coalesce(pg_catalog.to_json(bank_line)::pg_catalog.text, 'null'),
        ',"reason":', pg_catalog.to_json(reason), ',"reverses":',
        coalesce('"' OPERATOR(pg_catalog.||) reverses::pg_catalog.text
            OPERATOR(pg_catalog.||) '"', 'null'),
        ',"transaction":"', transaction, '","withdrawal":',
        coalesce('"' OPERATOR(pg_catalog.||) withdrawal::pg_catalog.text
            OPERATOR(pg_catalog.||) '"', 'null'), '}')
$$;

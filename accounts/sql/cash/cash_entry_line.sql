-- The line of a posting in the chain of its cash account: canonical JSON (RFC 8785).
-- A posting that is older than the chains has no digest of a private part.
-- called by: anyone, cash_entry_lines, cash_post
CREATE OR REPLACE FUNCTION public.cash_entry_line(
    owner uuid, owned_kind text, number bigint, kind text, amount bigint,
    balance_after bigint, at timestamp with time zone, reference text,
    private_digest bytea
)
RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT pg_catalog.concat('{"account":"', coalesce('Account|'
            OPERATOR(pg_catalog.||) owner::pg_catalog.text, owned_kind),
        '","amount":"', amount, '","at":"', public.register_api_time(at),
        '","balanceAfter":"', balance_after, '","kind":"', kind,
        '","lineVersion":"2","number":"', number, '","privateDigest":',
        coalesce('"' OPERATOR(pg_catalog.||)
            pg_catalog.encode(private_digest, 'hex') OPERATOR(pg_catalog.||) '"', 'null'),
        ',"reference":', coalesce(pg_catalog.to_json(reference)::pg_catalog.text, 'null'),
        '}')
$$;

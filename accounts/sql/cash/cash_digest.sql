-- The 64-bit digest of one leg of a cash transaction; a head sums those of its legs.
-- called by: anyone, cash_post
CREATE OR REPLACE FUNCTION public.cash_digest(
    cash_account bigint, number bigint, transaction bigint, kind text, delta bigint,
    balance_after bigint, at timestamp with time zone, reference text, reverses bigint,
    assigns bigint, withdrawal uuid, actor text, reason text
)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT ('x' OPERATOR(pg_catalog.||) pg_catalog.left(pg_catalog.encode(
        pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat_ws('|', cash_account,
            number, transaction, kind, delta, balance_after, extract(epoch FROM at),
            coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
            coalesce(withdrawal::pg_catalog.text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;

"""Contract: the 64-bit digest of a payment, which chains replace."""

from django.db import migrations

FORWARD = r"""
DROP FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text);
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT ('x' OPERATOR(pg_catalog.||) pg_catalog.left(pg_catalog.encode(
        pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat_ws('|', cash_account,
            number, transaction, kind, delta, balance_after, extract(epoch FROM at),
            coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
            coalesce(withdrawal::pg_catalog.text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
GRANT EXECUTE ON FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text) TO PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0028_rights_refuse"),
        ("accounts", "0062_chains_of_cash_sql"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

"""Faster cash."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
AS $$
    SELECT ('x' OPERATOR(pg_catalog.||) pg_catalog.left(pg_catalog.encode(
        pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat_ws('|', cash_account,
            number, transaction, kind, delta, balance_after, extract(epoch FROM at),
            coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
            coalesce(withdrawal::text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
GRANT EXECUTE ON FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$
    SELECT pg_catalog.strpos(pg_catalog.regexp_replace(pg_catalog.upper(said),
        '[^A-Z0-9]', '', 'g'), reference) OPERATOR(pg_catalog.>) 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_read_account(account uuid, partner_reference text)
RETURNS TABLE(status text, available bigint, withdrawal_id uuid) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    cash bigint;
    standing text;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT a.status, c.id INTO standing, cash
    FROM accounts_account a JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = account FOR SHARE OF a;
    PERFORM FROM accounts_cashhead h WHERE h.cash_account_id = cash FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT standing, h.balance - h.reserved, w.id
        FROM accounts_cashhead h
        LEFT JOIN accounts_withdrawal w ON w.cash_account_id = h.cash_account_id
            AND w.reference = partner_reference
        WHERE h.cash_account_id = cash;
END $$;
REVOKE ALL ON FUNCTION public.cash_read_account(uuid, text) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.cash_digest(cash_account bigint, number bigint, transaction bigint, kind text, delta bigint, balance_after bigint, at timestamp with time zone, reference text, reverses bigint, assigns bigint, withdrawal uuid, actor text, reason text)
RETURNS numeric LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT ('x' || left(encode(sha256(convert_to(concat_ws('|', cash_account, number,
        transaction, kind, delta, balance_after, extract(epoch FROM at),
        coalesce(reference, '-'), coalesce(reverses, 0), coalesce(assigns, 0),
        coalesce(withdrawal::text, '-'), actor, reason), 'UTF8')), 'hex'), 16)
        )::bit(64)::bigint::numeric
$$;
GRANT EXECUTE ON FUNCTION public.cash_digest(bigint, bigint, bigint, text, bigint, bigint, timestamp with time zone, text, bigint, bigint, uuid, text, text) TO PUBLIC;

CREATE OR REPLACE FUNCTION public.cash_names(said text, reference text)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT position(reference IN regexp_replace(upper(said), '[^A-Z0-9]', '', 'g')) > 0
$$;
REVOKE ALL ON FUNCTION public.cash_names(text, text) FROM PUBLIC;

DROP FUNCTION public.cash_read_account(uuid, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0058_binds_are_written"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

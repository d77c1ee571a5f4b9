"""Contract: fees and units judged once."""

from django.db import migrations

FORWARD = r"""
DROP FUNCTION public.register_states(uuid[], bigint[], boolean);
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.register_states(tokens uuid[], wanted bigint[], holds boolean)
RETURNS TABLE(token_id uuid, account bigint, kind text, issuer_id uuid, name text, balance numeric, reserved numeric, is_paused boolean, sending jsonb, receiving jsonb, locked numeric, locked_until timestamp with time zone, most_units numeric, most_bps integer, most_holders bigint) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    ruled uuid[];
    restricts boolean;
BEGIN
    IF holds THEN
        PERFORM accounts_read_committed();
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (wanted) AND a.kind = 'HOLDER' ORDER BY a.id FOR SHARE;
    END IF;
    ruled := ARRAY(SELECT DISTINCT r.token_id FROM issuers_tokenrule r
        WHERE r.ended_at IS NULL AND r.token_id = ANY (tokens));
    restricts := EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp());
    RETURN QUERY
    SELECT w.token_id, w.account, a.kind::text, a.issuer_id,
        coalesce(holder.name, 'the treasury of ' || issuer.trading_name, '')::text,
        coalesce(b.balance, 0), coalesce(b.reserved, 0),
        s.is_paused, s.sending, s.receiving, s.locked, s.locked_until, s.most_units,
        s.most_bps, s.most_holders
    FROM unnest(tokens, wanted) AS w (token_id, account)
    -- LATERAL looks each account up: where statistics are older than a large import,
    -- the planner would compare each account with all.
    LEFT JOIN LATERAL (
        SELECT * FROM issuers_ledgeraccount x WHERE x.id = w.account LIMIT 1
    ) a ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.trading_name FROM issuers_issuer x WHERE x.id = a.issuer_id LIMIT 1
    ) issuer ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.name FROM accounts_userholder x WHERE x.id = a.holder_id LIMIT 1
    ) holder ON TRUE
    LEFT JOIN LATERAL (
        SELECT x.balance, x.reserved FROM issuers_holderbalance x
        WHERE x.token_id = w.token_id AND x.account_id = w.account LIMIT 1
    ) b ON TRUE
    LEFT JOIN LATERAL (
        SELECT s.* FROM (
            SELECT WHERE w.token_id = ANY (ruled) OR restricts AND EXISTS (
                SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id = w.account
                    AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp()))
            OFFSET 0
        ) AS is_bound
        JOIN issuers_tokenledgerhead h ON h.token_id = w.token_id
        CROSS JOIN LATERAL register_standing(w.token_id, ARRAY[w.account],
            CASE WHEN holds THEN coalesce(h.hold_at, clock_timestamp())
                ELSE clock_timestamp() END, FALSE) s
    ) s ON TRUE;
END $$;
REVOKE ALL ON FUNCTION public.register_states(uuid[], bigint[], boolean) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0098_reason_codes_are_validated"),
        ("partnerapi", "0039_functions_alone_write_accounts"),
        ("trading", "0047_fees_parameters_auctions"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

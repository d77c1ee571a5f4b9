-- Returns for each account how many units of a token it may send and receive, with the
-- reasons.
-- called by: anyone
CREATE OR REPLACE FUNCTION public.register_limits(
    of_token uuid, accounts bigint[], at timestamp with time zone
)
RETURNS TABLE(account bigint, may_send numeric, may_receive numeric, reasons jsonb,
    balance numeric, reserved numeric, locked numeric, locked_until timestamp with time
    zone, holder_places bigint) LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT s.account,
        CASE WHEN s.is_paused OR s.sending <> '[]' THEN 0
            ELSE greatest(b.balance - s.locked, 0) END,
        CASE WHEN s.is_paused OR s.receiving <> '[]' OR m.is_full THEN 0
            ELSE greatest(coalesce(m.most, 18446744073709551615) - b.balance, 0) END,
        jsonb_build_object(
            'send', s.sending || m.paused || CASE WHEN s.locked > 0
                THEN jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
                    'code', 'UNITS_LOCKED',
                    'available', greatest(b.balance - s.locked, 0),
                    'lockedUntil', s.locked_until))) ELSE '[]' END,
            'receive', s.receiving || m.paused
                || CASE WHEN m.is_full THEN jsonb_build_array(jsonb_build_object(
                    'code', 'MAX_HOLDERS_EXCEEDED', 'maximum', s.most_holders))
                    ELSE '[]' END
                || CASE WHEN m.most IS NOT NULL THEN jsonb_build_array(
                    jsonb_build_object('code', 'MAX_BALANCE_EXCEEDED',
                    'maximum', m.most, 'held', b.balance)) ELSE '[]' END),
        b.balance, b.reserved, s.locked, s.locked_until,
        s.most_holders - h.holder_count
    FROM register_standing(of_token, accounts, at) s
    JOIN issuers_tokenledgerhead h ON h.token_id = of_token
    CROSS JOIN LATERAL (
        SELECT coalesce(max(b.balance), 0) AS balance,
            coalesce(max(b.reserved), 0) AS reserved
        FROM issuers_holderbalance b
        WHERE b.token_id = of_token AND b.account_id = s.account
    ) b
    CROSS JOIN LATERAL (
        SELECT least(s.most_units, floor(h.supply * s.most_bps / 10000)) AS most,
            coalesce(b.balance = 0 AND h.holder_count >= s.most_holders, FALSE)
                AS is_full,
            CASE WHEN s.is_paused THEN '[{"code": "TRANSFERS_PAUSED"}]'::jsonb
                ELSE '[]' END AS paused
    ) m;
END $$;

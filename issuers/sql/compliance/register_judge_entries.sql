-- Refuses entries that rules, restrictions or reserved units forbid; their postings and
-- balances are written, their heads not yet.
-- called by: register_enter
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.register_judge_entries(
    at timestamp with time zone, entry_tokens uuid[], seqs bigint[]
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = ANY (entry_tokens)
            AND (r.ended_at IS NULL OR r.ended_at > at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at > at) THEN
        RETURN;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                s.balance_after AS source_after, g.balance_after AS target_after
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = w.token
            LEFT JOIN issuers_ledgerposting s
                ON s.token_id = w.token AND s.seq = w.seq AND s.leg = 1
            LEFT JOIN issuers_ledgerposting g
                ON g.token_id = w.token AND g.seq = w.seq AND g.leg = 2
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id
                    AND (r.ended_at IS NULL OR r.ended_at > at))
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at > at))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            at, FALSE, e.source_after + e.amount, 0, e.target_after - e.amount,
            e.supply_after, e.holders_before, e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, b.balance, b.reserved
        FROM (
            SELECT x.token_id, x.source_id AS account_id
            FROM unnest(entry_tokens, seqs) AS w (token, seq)
            JOIN issuers_ledgertransaction x
                ON x.token_id = w.token AND x.seq = w.seq
            JOIN issuers_entrykind k ON k.name = x.kind
            WHERE x.source_id IS NOT NULL
            GROUP BY x.token_id, x.source_id
            HAVING bool_and(k.is_taken)
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_entries(timestamp with time zone, uuid[],
    bigint[]) FROM PUBLIC;

-- Refuses entries that rules, restrictions or reserved units forbid; issuers made in
-- this transaction are exempt.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
CREATE OR REPLACE FUNCTION public.register_judge_postings()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_judge_postings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- A writer took its time in this transaction: what has ended since then binds it.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.ended_at IS NULL AND r.token_id IN (SELECT token_id FROM entered))
        AND NOT EXISTS (
            SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at >= transaction_timestamp()) THEN
        RETURN NULL;
    END IF;
    SELECT format('entry %s of token %s: %s', e.seq, t.symbol, f.said) INTO wrong
    FROM (
        SELECT x.* FROM (
            SELECT x.token_id, x.seq, x.kind, x.source_id, x.target_id, x.amount,
                x.effective_at, x.supply_after, x.holders_after,
                lag(x.holders_after, 1, h.holder_count) OVER by_seq AS holders_before,
                p.source_after, p.target_after
            FROM (SELECT token_id, seq,
                    max(balance_after) FILTER (WHERE leg = 1) AS source_after,
                    max(balance_after) FILTER (WHERE leg = 2) AS target_after
                  FROM entered GROUP BY token_id, seq) p
            JOIN issuers_ledgertransaction x
                ON x.token_id = p.token_id AND x.seq = p.seq
            JOIN issuers_tokenledgerhead h ON h.token_id = p.token_id
            WINDOW by_seq AS (PARTITION BY x.token_id ORDER BY x.seq)
        ) x
        WHERE EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = x.token_id AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id IN (x.source_id, x.target_id)
                    AND (r.ended_at IS NULL OR r.ended_at >= x.effective_at))
        OFFSET 0
    ) x
    CROSS JOIN LATERAL (
        -- Against most entries nothing stands at all.
        SELECT x.* FROM register_standing(
            x.token_id, ARRAY[x.source_id, x.target_id], x.effective_at) s
        HAVING bool_or(s.is_paused OR s.sending <> '[]' OR s.receiving <> '[]'
            OR s.locked > 0 OR x.holders_after > s.most_holders OR x.target_after
                > least(s.most_units, floor(x.supply_after * s.most_bps / 10000)))
        OFFSET 0
    ) e
    JOIN issuers_token t ON t.id = e.token_id
    JOIN issuers_issuer i ON i.id = t.issuer_id
        AND i.recorded_in IS DISTINCT FROM (SELECT register_transaction(0))
    CROSS JOIN LATERAL (
        SELECT string_agg(j.code || CASE WHEN j.details = '{}' THEN ''
            ELSE ' ' || j.details::text END, ', ') AS said
        FROM register_judge(e.token_id, e.kind, e.source_id, e.target_id, e.amount,
            e.effective_at, FALSE, e.source_after + e.amount, 0,
            e.target_after - e.amount, e.supply_after, e.holders_before,
            e.holders_after) j
    ) f
    WHERE f.said IS NOT NULL
    ORDER BY e.seq LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '%.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('account %s of token %s', b.account_id, b.token_id) INTO wrong
    FROM (
        SELECT s.token_id, s.account_id, s.at, b.balance, b.reserved
        FROM (
            SELECT s.token_id, s.account_id, max(x.effective_at) AS at
            FROM entered s
            JOIN issuers_ledgertransaction x
                ON x.token_id = s.token_id AND x.seq = s.seq
            WHERE s.leg = 1
            GROUP BY s.token_id, s.account_id
            HAVING bool_and(x.kind IN ('TRADE', 'TRANSFER', 'RETURN', 'BURN'))
        ) s
        JOIN issuers_holderbalance b ON b.token_id = s.token_id
            AND b.account_id = s.account_id AND b.reserved > 0
        OFFSET 0
    ) b
    CROSS JOIN LATERAL
        register_standing(b.token_id, ARRAY[b.account_id], b.at, FALSE) l
    WHERE b.balance < l.locked + b.reserved LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'Open orders sell these units: UNITS_RESERVED, %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_judge_postings() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_judge_postings AFTER INSERT
    ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_judge_postings();

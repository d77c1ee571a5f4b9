-- Derives the periods in which users hold a token from the postings of new entries.
-- called by: register_enter
CREATE OR REPLACE FUNCTION public.register_follow_periods(tokens uuid[], seqs bigint[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    WITH changed AS MATERIALIZED (
        SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
            lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
        FROM unnest(tokens, seqs) AS w (token, seq)
        JOIN issuers_ledgerposting p ON p.token_id = w.token AND p.seq = w.seq
        JOIN issuers_ledgeraccount a ON a.id = p.account_id
        WHERE a.user_id IS NOT NULL
            AND (p.balance_after > 0) <> (p.balance_after > p.delta)
        WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
    ), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM (
            SELECT k.seq, (SELECT x.ctid FROM issuers_holdingperiod x
                WHERE x.token_id = k.token_id AND x.user_id = k.user_id
                    AND x.until IS NULL) AS place
            FROM changed k WHERE NOT k.holds AND k.before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
    SELECT c.token_id, c.user_id, c.seq, c.next
    FROM changed c, (SELECT count(*) FROM ended) AS at_first
    WHERE c.holds;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_periods(uuid[], bigint[]) FROM PUBLIC;

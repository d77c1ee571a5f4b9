-- Judges at most so many entries of each ledger, two days old or older, for good.
-- Returns how many ledgers moved.
-- called by: application
CREATE OR REPLACE FUNCTION public.register_keep_judged(most bigint)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    moved bigint;
BEGIN
    PERFORM accounts_read_committed();
    INSERT INTO issuers_judgedledger AS j (token_id, seq, broken)
    SELECT d.token_id, d.until,
        ARRAY(SELECT register_broken_entries(d.token_id, d.since, d.until))
    FROM (
        SELECT h.token_id, coalesce(k.seq, 0) AS since, (
            SELECT max(t.seq) FROM issuers_ledgertransaction t
            WHERE t.token_id = h.token_id AND t.seq > coalesce(k.seq, 0)
                AND t.seq <= coalesce(k.seq, 0) + most
                AND t.recorded_at <= now() - interval '2 days') AS until
        FROM issuers_tokenledgerhead h
        LEFT JOIN issuers_judgedledger k ON k.token_id = h.token_id
    ) d
    WHERE d.until IS NOT NULL ORDER BY d.token_id
    ON CONFLICT (token_id) DO UPDATE
        SET seq = excluded.seq, broken = j.broken || excluded.broken
        WHERE j.seq < excluded.seq;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_judged(bigint) FROM PUBLIC;

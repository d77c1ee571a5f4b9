-- Derives the periods in which users hold a token from its postings.
-- called by: triggers
-- raises: insufficient_privilege
CREATE OR REPLACE FUNCTION public.register_follow_holdings()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = off
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgerposting'::regclass THEN
        RAISE EXCEPTION 'register_follow_holdings guards issuers_ledgerposting, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    WITH changed AS (
    SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
        lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
    FROM entered p JOIN issuers_ledgeraccount a ON a.id = p.account_id
    WHERE a.user_id IS NOT NULL AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM (
            SELECT seq, (SELECT ctid FROM issuers_holdingperiod p
                WHERE p.token_id = changed.token_id AND p.user_id = changed.user_id
                    AND p.until IS NULL) AS place
            FROM changed WHERE NOT holds AND before IS NULL OFFSET 0
        ) c
        WHERE h.ctid = c.place RETURNING 1
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
        SELECT token_id, user_id, seq, next FROM changed, (SELECT count(*) FROM ended) AS at_first WHERE holds;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_follow_holdings() FROM PUBLIC;

CREATE OR REPLACE TRIGGER register_follow_holdings AFTER INSERT
    ON public.issuers_ledgerposting REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.register_follow_holdings();

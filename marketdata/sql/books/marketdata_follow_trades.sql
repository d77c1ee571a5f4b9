-- Trades of a tape are numbered without gaps up to their head's number, in time order.
-- called by: triggers
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.marketdata_follow_trades()
RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, trade %s', e.token_id, e.first) INTO wrong
    FROM (
        SELECT token_id, min(sequence) AS first, max(sequence) AS last, count(*) AS many,
            min(at) AS at, max(at) AS last_at
        FROM entered GROUP BY token_id
    ) e
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = e.token_id
    WHERE (h.last_trade = e.last AND e.many = 1 + e.last - e.first
        AND e.last_at <= h.last_at AND (e.first = 1 OR EXISTS (
            SELECT FROM marketdata_trade b
            WHERE b.token_id = e.token_id AND b.sequence = e.first - 1 AND b.at <= e.at
        ) OR EXISTS (
            SELECT FROM marketdata_booksnapshot b
            WHERE b.token_id = e.token_id AND b.trade_sequence = e.first - 1
        ))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The log''s next trade must have the next number, as its head '
            'says, and a time not before the last one''s: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.marketdata_follow_trades() FROM PUBLIC;

CREATE OR REPLACE TRIGGER marketdata_follow_trades AFTER INSERT
    ON public.marketdata_trade REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.marketdata_follow_trades();

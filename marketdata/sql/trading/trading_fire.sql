-- Fires a partner's timer if it is due. The transaction then cancels its orders; until
-- it has ended, the partner cannot renew the timer. Whether it was due. While an auction
-- binds some of the orders, the timer stays due, and another call fires it.
-- called by: application
CREATE OR REPLACE FUNCTION public.trading_fire(of_partner uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    UPDATE trading_canceltimer t SET fired_at = clock_timestamp(),
        fires_at = CASE WHEN EXISTS (
            SELECT FROM trading_auction a WHERE a.ended IS NULL AND a.fills IS NOT NULL
                AND EXISTS (SELECT FROM trading_order o WHERE o.partner_id = of_partner
                    AND o.token_id = a.token_id AND o.status = 'OPEN'))
            THEN t.fires_at END
    WHERE t.partner_id = of_partner AND t.fires_at <= clock_timestamp();
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.trading_fire(uuid) FROM PUBLIC;

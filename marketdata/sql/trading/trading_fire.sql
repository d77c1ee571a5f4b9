-- Fires a partner's timer if it is due. The transaction then cancels its orders; until
-- it has ended, the partner cannot renew the timer. Whether it was due.
-- called by: application
CREATE OR REPLACE FUNCTION public.trading_fire(of_partner uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
BEGIN
    UPDATE trading_canceltimer t SET fires_at = NULL, fired_at = clock_timestamp()
    WHERE t.partner_id = of_partner AND t.fires_at <= clock_timestamp();
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.trading_fire(uuid) FROM PUBLIC;

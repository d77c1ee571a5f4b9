-- Starts anew the timer that cancels all orders of a partner, or stops it: 0 seconds.
-- Returns when it fires.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_cancel_after(
    of_partner uuid, seconds integer, asked_by text
)
RETURNS timestamp with time zone LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz := clock_timestamp() + make_interval(secs => nullif(seconds, 0));
BEGIN
    IF NOT EXISTS (SELECT FROM accounts_partner p
            WHERE p.id = of_partner AND p.login = asked_by) OR seconds < 0 THEN
        RAISE EXCEPTION 'A partner starts its own timer: %.', of_partner
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_canceltimer AS t (partner_id, fires_at)
    VALUES (of_partner, at)
    ON CONFLICT (partner_id) DO UPDATE SET fires_at = excluded.fires_at;
    RETURN at;
END $$;
REVOKE ALL ON FUNCTION public.trading_cancel_after(uuid, integer, text) FROM PUBLIC;

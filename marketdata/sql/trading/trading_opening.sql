-- How a closed market with a model opens: by the auction of a CALL where it trades by
-- fixings, where orders of a call may cross, and after a halt; else CONTINUOUS.
-- called by: application, trading_change_phase, trading_set_parameters
CREATE OR REPLACE FUNCTION public.trading_opening(of_token uuid, by_model text)
RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT CASE WHEN by_model = 'FIXING' OR NOT m.shows_book OR (
        SELECT e.phase = 'HALTED' FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.order_id IS NULL AND e.phase <> 'CLOSED'
        ORDER BY e.number DESC LIMIT 1) THEN 'CALL' ELSE 'CONTINUOUS' END
    FROM trading_market m WHERE m.token_id = of_token
$$;
REVOKE ALL ON FUNCTION public.trading_opening(uuid, text) FROM PUBLIC;

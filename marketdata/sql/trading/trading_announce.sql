-- Tells partners which of their open orders new parameters of a market end at its next
-- opening: in the evening before, once the session has ended or the opening is twelve
-- hours away.
-- called by: application
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_announce(of_token uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    following trading_marketparameters;
    moment timestamptz;
    reference bigint;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO following FROM trading_marketparameters p
        WHERE p.token_id = of_token ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
    moment := clock_timestamp();
    IF (moment >= least(following.valid_from, following.opens_at - interval '12 hours')
            AND following.announced_at IS NULL) IS NOT TRUE THEN
        RETURN;
    END IF;
    UPDATE trading_marketparameters p SET announced_at = moment
        WHERE p.token_id = of_token AND p.announced_at IS NULL;
    reference := trading_reference(of_token);
    PERFORM events_write(NULL, array_agg(o.partner_id),
        array_agg('ORDER_ENDS_AT_OPENING'::text), array_agg(o.id), NULL,
        array_agg(o.token_id), array_agg(o.account_id), NULL, NULL,
        array_agg(o.limit_price), array_agg(o.quantity),
        array_agg(o.quantity - o.filled), NULL, array_agg('PARAMETERS_CHANGED'::text))
    FROM (SELECT * FROM trading_order x
        WHERE x.token_id = of_token AND x.status = 'OPEN' AND trading_is_off(
            x.limit_price, x.quantity - x.filled, following.tick_cents,
            following.tick_floors, following.tick_steps, following.lot_units,
            following.collar_bps, reference)
        ORDER BY x.priority) o
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.trading_announce(uuid) FROM PUBLIC;

-- Ends the open orders of a market that its new parameters no longer admit, when it
-- opens by them for the first time.
-- called by: trading_change_phase
CREATE OR REPLACE FUNCTION public.trading_end_off(
    of_token uuid, at timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    off uuid[];
BEGIN
    LOOP
        SELECT array_agg(x.id ORDER BY x.priority) INTO off
        FROM (
            SELECT o.id, o.priority FROM trading_order o
            JOIN trading_market m ON m.token_id = o.token_id
            WHERE o.token_id = of_token AND o.status = 'OPEN' AND trading_is_off(
                o.limit_price, o.quantity - o.filled, m.tick_cents, m.tick_floors,
                m.tick_steps, m.lot_units, m.collar_bps, m.reference_price)
            LIMIT 5000
        ) x;
        EXIT WHEN off IS NULL;
        PERFORM trading_write(of_token, at,
            array_fill('ORDER_CANCELLED'::text, ARRAY[cardinality(off)]), off,
            ARRAY(SELECT n::integer FROM generate_series(1, cardinality(off)) AS n),
            array_fill(NULL::bigint, ARRAY[cardinality(off)]),
            array_fill(NULL::bigint, ARRAY[cardinality(off)]),
            array_fill('PARAMETERS_CHANGED'::text, ARRAY[cardinality(off)]),
            array_fill('market'::text, ARRAY[cardinality(off)]), FALSE,
            '{}', '{}', '{}', '{}', '{}', '{}');
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.trading_end_off(uuid, timestamp with time zone)
    FROM PUBLIC;

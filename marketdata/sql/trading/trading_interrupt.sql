-- Interrupts a market whose last order would have traded outside the bands around the
-- price before it and the reference price: a call begins. Judges that the order has a
-- rest, and that the best order which it left stands outside the bands.
-- called by: trading_write
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_interrupt(
    of_token uuid, since_event bigint, base_price bigint,
    judged_at timestamp with time zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    came record;
    base bigint;
    lowest bigint;
    highest bigint;
    best bigint;
BEGIN
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    SELECT e.number, e.price, e.reason, o.side, o.filled < o.quantity AS has_rest
    INTO came
    FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
    WHERE e.token_id = of_token AND e.number > since_event
        AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
    ORDER BY e.number DESC LIMIT 1;
    base := coalesce((
        SELECT e.price FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.number > since_event
            AND e.number < came.number AND e.kind = 'ORDER_TRADED'
        ORDER BY e.number DESC LIMIT 1), base_price);
    lowest := greatest(base - base * market.dynamic_band_bps / 10000,
        market.reference_price - market.reference_price * market.collar_bps / 10000, 1);
    highest := least(base + base * market.dynamic_band_bps / 10000,
        market.reference_price + market.reference_price * market.collar_bps / 10000);
    IF came.side = 0 THEN
        SELECT q.limit_price INTO best FROM trading_order q
        WHERE q.token_id = of_token AND q.side = 1 AND q.status = 'OPEN'
            AND q.limit_price <= came.price AND (q.expires_at > judged_at) IS NOT FALSE
        ORDER BY q.limit_price, q.priority LIMIT 1;
    ELSE
        SELECT q.limit_price INTO best FROM trading_order q
        WHERE q.token_id = of_token AND q.side = 0 AND q.status = 'OPEN'
            AND q.limit_price >= came.price AND (q.expires_at > judged_at) IS NOT FALSE
        ORDER BY q.limit_price DESC, q.priority LIMIT 1;
    END IF;
    IF (market.phase = 'CONTINUOUS' AND came.reason = 'OUTSIDE_BAND' AND came.has_rest
            AND best NOT BETWEEN lowest AND highest) IS NOT TRUE
        OR 1 < (SELECT count(*) FROM trading_orderevent e
            WHERE e.token_id = of_token AND e.number > since_event
                AND e.reason = 'OUTSIDE_BAND') THEN
        RAISE EXCEPTION 'A market is interrupted by its last order, which would trade '
            'outside the bands: token %.', of_token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM trading_call(of_token, judged_at, judged_at + interval '270 s',
        market.session_ends_at, market.reference_price, lowest, highest,
        'A trade would have been outside the bands.', 'market');
END $$;
REVOKE ALL ON FUNCTION public.trading_interrupt(uuid, bigint, bigint, timestamp with time
    zone) FROM PUBLIC;

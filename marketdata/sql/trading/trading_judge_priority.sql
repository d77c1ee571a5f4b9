-- Judges that each order that came met those before it, best price and oldest first:
-- none that stood before its last one, or before its own rest, was left or met later.
-- called by: trading_write
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_judge_priority(
    of_token uuid, since_event bigint, since_trade bigint, judged_at timestamp with time
    zone
)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    wrong uuid;
BEGIN
    -- Of few columns, and each few rows in a part of their own: a list reads them again
    -- for each of its orders.
    WITH events AS MATERIALIZED (
        SELECT e.number, e.order_id, e.kind, e.price, e.remaining, e.reason
        FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.number > since_event
    ), stopped AS MATERIALIZED (
        SELECT e.order_id FROM events e
        WHERE e.reason IN ('FILL_OR_KILL', 'SELF_TRADE', 'OUTSIDE_BAND')
    ), met AS MATERIALIZED (
        -- A maker's price is lower the better it is, on both sides.
        SELECT x.sequence, t.id AS taker, t.priority AS came, m.priority, m.side,
            CASE m.side WHEN 1 THEN x.price ELSE -x.price END AS price, x.quantity
        FROM trading_execution x
        CROSS JOIN LATERAL (
            SELECT o.id, o.priority FROM trading_order o WHERE o.id = CASE x.aggressor
                WHEN 0 THEN x.buy_order_id ELSE x.sell_order_id END LIMIT 1) t
        CROSS JOIN LATERAL (
            SELECT o.side, o.priority FROM trading_order o WHERE o.id = CASE x.aggressor
                WHEN 0 THEN x.sell_order_id ELSE x.buy_order_id END LIMIT 1) m
        WHERE x.token_id = of_token AND x.sequence > since_trade
    ), taken AS MATERIALIZED (
        SELECT e.number, e.order_id, o.side,
            CASE WHEN r.rests THEN CASE o.side WHEN 0 THEN e.price ELSE -e.price END
                ELSE f.price END AS last_price,
            CASE WHEN r.rests THEN 9223372036854775807 ELSE f.priority END
                AS last_priority
        FROM events e
        CROSS JOIN LATERAL (
            SELECT x.side FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
        LEFT JOIN LATERAL (
            SELECT sum(m.quantity) AS units,
                (array_agg(m.price ORDER BY m.sequence DESC))[1] AS price,
                (array_agg(m.priority ORDER BY m.sequence DESC))[1] AS priority
            FROM met m WHERE m.taker = e.order_id
        ) f ON TRUE
        CROSS JOIN LATERAL (SELECT e.remaining > coalesce(f.units, 0)
            AND e.order_id NOT IN (SELECT s.order_id FROM stopped s) AS rests) r
        WHERE e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
    ), gone AS MATERIALIZED (
        SELECT m.side, m.price, m.priority, m.came FROM met m
        UNION ALL
        SELECT o.side, CASE o.side WHEN 1 THEN o.limit_price ELSE -o.limit_price END,
            o.priority, e.number
        FROM events e
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
        WHERE e.kind = 'ORDER_CANCELLED' AND e.reason = 'NOT_ELIGIBLE'
    )
    SELECT j.order_id INTO wrong FROM (
        -- Ordered, each of these two is a look-up in the index of the queues.
        SELECT t.order_id FROM taken t
        CROSS JOIN LATERAL (
            SELECT FROM trading_order q
            WHERE q.token_id = of_token AND q.side = 1 AND q.status = 'OPEN'
                AND q.limit_price <= t.last_price AND q.priority < t.number
                AND (q.limit_price < t.last_price OR q.priority < t.last_priority)
                AND (q.expires_at > judged_at) IS NOT FALSE
            ORDER BY q.limit_price, q.priority LIMIT 1) q
        WHERE t.side = 0
        UNION ALL
        SELECT t.order_id FROM taken t
        CROSS JOIN LATERAL (
            SELECT FROM trading_order q
            WHERE q.token_id = of_token AND q.side = 0 AND q.status = 'OPEN'
                AND q.limit_price >= -t.last_price AND q.priority < t.number
                AND (q.limit_price > -t.last_price OR q.priority < t.last_priority)
                AND (q.expires_at > judged_at) IS NOT FALSE
            ORDER BY q.limit_price DESC, q.priority LIMIT 1) q
        WHERE t.side = 1
        UNION ALL
        SELECT t.order_id FROM taken t
        JOIN gone m ON m.side <> t.side AND m.came > t.number AND m.priority < t.number
            AND (m.price, m.priority) < (t.last_price, t.last_priority)
        WHERE t.last_price IS NOT NULL
        UNION ALL
        SELECT m.taker FROM (
            SELECT m.*, lag(m.price) OVER by_taker AS price_before,
                lag(m.priority) OVER by_taker AS priority_before
            FROM met m WINDOW by_taker AS (PARTITION BY m.taker ORDER BY m.sequence)
        ) m WHERE (m.price_before, m.priority_before) > (m.price, m.priority)
    ) j LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order trades with the best price first, and at one price '
            'with the oldest order first: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_priority(uuid, bigint, bigint, timestamp with
    time zone) FROM PUBLIC;

-- Computes the fees that follow from a market's events since one of them, and keeps what
-- each order has paid and reserves. New orders get the tariff in force, which they keep.
-- In an auction both orders have rested: both trade as makers. A sell pays from the proceeds of a fill: what these do not cover is paid with its next
-- fills. Returns what becomes reserved or free, and the payments by their trades.
-- called by: trading_settle, trading_write
CREATE OR REPLACE FUNCTION public.trading_charge(
    of_token uuid, since_event bigint, judged_at timestamp with time zone
)
RETURNS TABLE(heads bigint[], cents bigint[], trades bigint[], sides smallint[],
    payers bigint[], nets bigint[], vats bigint[], actors text[])
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    is_call boolean := (SELECT m.phase = 'CALL' FROM trading_market m
        WHERE m.token_id = of_token);
BEGIN
    INSERT INTO trading_orderfee (order_id, tariff_id, maker_value, taker_value, paid,
        reserved)
    SELECT e.order_id, t.id, 0, 0, 0, 0
    FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT x.partner_id FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
    CROSS JOIN LATERAL (
        SELECT x.id FROM trading_tariff x
        WHERE x.token_id = of_token
            AND (x.partner_id = o.partner_id OR x.partner_id IS NULL)
            AND x.valid_from <= judged_at AND (x.ended_at > judged_at) IS NOT FALSE
        ORDER BY x.partner_id IS NULL, x.valid_from DESC LIMIT 1) t
    WHERE e.token_id = of_token AND e.number > since_event AND e.kind = 'ORDER_ACCEPTED';
    RETURN QUERY
    WITH events AS MATERIALIZED (
        -- Of the two events of a trade the second is that of the order that came.
        SELECT e.order_id, e.number, e.trade, e.actor,
            CASE WHEN e.trade IS NULL THEN 0 ELSE e.price::numeric * e.quantity END
                AS value,
            coalesce(lag(e.trade) OVER (ORDER BY e.number) = e.trade, FALSE)
                AND NOT is_call AS takes
        FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.number > since_event
    ), traded AS (
        SELECT e.number, e.trade, e.actor, f.order_id, f.reserved, f.paid AS paid_before,
            f.maker_value + f.taker_value AS value_before, t.tariff, o.side,
            o.cash_account_id,
            CASE WHEN o.side = 0 AND o.status = 'OPEN'
                THEN (o.quantity - o.filled)::numeric * o.limit_price ELSE 0 END AS rest,
            f.maker_value + sum(CASE WHEN e.takes THEN 0 ELSE e.value END) OVER by_order
                AS maker,
            f.taker_value + sum(CASE WHEN e.takes THEN e.value ELSE 0 END) OVER by_order
                AS taker
        FROM events e
        -- LATERAL looks each row up, whatever the planner knows of the tables.
        CROSS JOIN LATERAL (
            SELECT * FROM trading_orderfee x WHERE x.order_id = e.order_id LIMIT 1) f
        CROSS JOIN LATERAL (
            SELECT x AS tariff FROM trading_tariff x WHERE x.id = f.tariff_id LIMIT 1) t
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
        WINDOW by_order AS (PARTITION BY e.order_id ORDER BY e.number)
    ), due AS (
        SELECT t.*, t.maker + t.taker AS value,
            trading_fee_due(t.tariff, t.maker, t.taker, 0) AS due
        FROM traded t
    ), paid AS (
        SELECT d.*, CASE d.side WHEN 0 THEN d.due ELSE d.value + least(
                d.paid_before - d.value_before, min(d.due - d.value) OVER by_order) END
                AS paid
        FROM due d WINDOW by_order AS (PARTITION BY d.order_id ORDER BY d.number)
    ), steps AS MATERIALIZED (
        SELECT p.*, p.paid - coalesce(lag(p.paid) OVER by_order, p.paid_before) AS total,
            trading_fee_net(p.paid, (p.tariff).vat_bps) - trading_fee_net(coalesce(
                lag(p.paid) OVER by_order, p.paid_before), (p.tariff).vat_bps) AS net,
            lead(p.number) OVER by_order IS NULL AS is_last
        FROM paid p WINDOW by_order AS (PARTITION BY p.order_id ORDER BY p.number)
    ), ends AS MATERIALIZED (
        SELECT s.*, CASE s.rest WHEN 0 THEN 0 ELSE
            trading_fee_due(s.tariff, s.maker, s.taker, s.rest) - s.paid END AS holds
        FROM steps s WHERE s.is_last
    ), kept AS (
        UPDATE trading_orderfee f SET maker_value = e.maker, taker_value = e.taker,
            paid = e.paid, reserved = e.holds
        FROM ends e
        WHERE f.order_id = e.order_id AND (f.maker_value, f.taker_value, f.reserved)
            IS DISTINCT FROM (e.maker, e.taker, e.holds)
    )
    SELECT h.heads, h.cents, p.trades, p.sides, p.payers, p.nets, p.vats, p.actors
    FROM (
        SELECT array_agg(e.cash_account_id) AS heads,
            array_agg((e.holds - e.reserved)::bigint) AS cents
        FROM ends e WHERE e.holds <> e.reserved
    ) h, (
        SELECT coalesce(array_agg(s.trade ORDER BY s.number), '{}') AS trades,
            array_agg(s.side ORDER BY s.number) AS sides,
            array_agg(s.cash_account_id ORDER BY s.number) AS payers,
            array_agg(s.net::bigint ORDER BY s.number) AS nets,
            array_agg((s.total - s.net)::bigint ORDER BY s.number) AS vats,
            array_agg(s.actor::text ORDER BY s.number) AS actors
        FROM steps s WHERE s.total > 0
    ) p;
END $$;
REVOKE ALL ON FUNCTION public.trading_charge(uuid, bigint, timestamp with time zone)
    FROM PUBLIC;

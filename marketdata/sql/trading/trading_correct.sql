-- Corrects the price of a trade: busts it, and enters in the same commit another trade
-- of its orders and units, at a price within limits that both orders have had. Each
-- order pays the fee that follows. The new trade is the last one of the tape, and its
-- price the token's. Returns the number of the new trade.
-- called by: application
-- raises: restrict_violation
CREATE OR REPLACE FUNCTION public.trading_correct(
    of_token uuid, of_trade bigint, at_price bigint, why text, requested_by text,
    approved_by text
)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
#variable_conflict use_variable
DECLARE
    undone record;
    head marketdata_orderbookhead;
    market trading_market;
    trade trading_execution;
    buy trading_order;
    sell trading_order;
    made bigint;
    moved_at timestamptz;
    fees integer := 0;
    fee_payers bigint[];
    fee_sides smallint[];
    fee_nets bigint[];
    fee_vats bigint[];
    held_heads bigint[];
    held_cents bigint[];
    payments bigint[];
BEGIN
    SELECT * INTO undone
    FROM trading_undo(of_token, of_trade, why, requested_by, approved_by);
    SELECT * INTO head FROM marketdata_orderbookhead h WHERE h.token_id = of_token;
    SELECT * INTO market FROM trading_market m WHERE m.token_id = of_token;
    SELECT * INTO trade FROM trading_execution x
        WHERE x.token_id = of_token AND x.sequence = of_trade;
    SELECT * INTO buy FROM trading_order o WHERE o.id = trade.buy_order_id;
    SELECT * INTO sell FROM trading_order o WHERE o.id = trade.sell_order_id;
    IF (at_price > 0 AND at_price <> trade.price
        AND at_price % coalesce(market.tick_steps[width_bucket(at_price,
            market.tick_floors)], market.tick_cents) = 0
        AND at_price <= (SELECT max(e.price) FROM trading_orderevent e
            WHERE e.order_id = buy.id AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
        AND at_price >= (SELECT min(e.price) FROM trading_orderevent e
            WHERE e.order_id = sell.id AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
        ) IS NOT TRUE THEN
        RAISE EXCEPTION 'A trade is corrected to another price, a multiple of the tick '
            'within the limits of both orders: trade % of token %.', of_trade, of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    made := head.last_trade + 1;
    moved_at := clock_timestamp();
    WITH fees AS (
        SELECT f.order_id, f.paid, f.reserved, o.side, o.cash_account_id, t AS tariff,
            v.value, f.maker_value
                + CASE WHEN trade.aggressor = o.side THEN 0 ELSE v.value END AS maker,
            f.taker_value
                + CASE WHEN trade.aggressor = o.side THEN v.value ELSE 0 END AS taker,
            CASE WHEN o.side = 0 AND o.status = 'OPEN'
                THEN (o.quantity - o.filled)::numeric * o.limit_price ELSE 0 END AS rest
        FROM trading_orderfee f
        JOIN trading_order o ON o.id = f.order_id
        JOIN trading_tariff t ON t.id = f.tariff_id
        CROSS JOIN (SELECT at_price * trade.quantity AS value) v
        WHERE f.order_id IN (buy.id, sell.id)
    ), due AS (
        SELECT f.*, least(trading_fee_due(f.tariff, f.maker, f.taker, 0),
                CASE f.side WHEN 1 THEN f.paid + f.value END) AS total
        FROM fees f
    ), held AS MATERIALIZED (
        SELECT d.*, CASE d.rest WHEN 0 THEN 0 ELSE
                trading_fee_due(d.tariff, d.maker, d.taker, d.rest) - d.total END
                AS holds,
            trading_fee_net(d.total, (d.tariff).vat_bps)
                - trading_fee_net(d.paid, (d.tariff).vat_bps) AS net
        FROM due d
    ), kept AS (
        UPDATE trading_orderfee f SET maker_value = h.maker, taker_value = h.taker,
            paid = h.total, reserved = h.holds
        FROM held h WHERE f.order_id = h.order_id
    )
    SELECT p.fees, p.heads, p.sides, p.nets, p.vats, r.heads, r.cents
    INTO fees, fee_payers, fee_sides, fee_nets, fee_vats, held_heads, held_cents
    FROM (
        SELECT count(*)::integer AS fees,
            array_agg(h.cash_account_id ORDER BY h.side) AS heads,
            array_agg(h.side ORDER BY h.side) AS sides,
            array_agg(h.net::bigint ORDER BY h.side) AS nets,
            array_agg((h.total - h.paid - h.net)::bigint ORDER BY h.side) AS vats
        FROM held h WHERE h.total > h.paid
    ) p, (
        SELECT coalesce(array_agg(h.cash_account_id), '{}') AS heads,
            coalesce(array_agg((h.holds - h.reserved)::bigint), '{}') AS cents
        FROM held h WHERE h.holds <> h.reserved
    ) r;
    payments := cash_post(moved_at,
        ARRAY['TRADE'::text] || array_fill('FEE'::text, ARRAY[fees]),
        buy.cash_account_id || fee_payers,
        sell.cash_account_id || array_fill(market.fees_account_id, ARRAY[fees]),
        at_price * trade.quantity || ARRAY(
            SELECT f.net + f.vat FROM unnest(fee_nets, fee_vats) WITH ORDINALITY
                AS f (net, vat, place) ORDER BY f.place),
        array_fill(requested_by, ARRAY[1 + fees]), array_fill(''::text, ARRAY[1 + fees]),
        array_fill(NULL::text, ARRAY[1 + fees]),
        array_fill(NULL::bigint, ARRAY[1 + fees]),
        array_fill(NULL::bigint, ARRAY[1 + fees]),
        array_fill(NULL::uuid, ARRAY[1 + fees]), held_heads, held_cents);
    INSERT INTO trading_executionfee (token_id, sequence, side, is_refund, net, vat,
        cash_transaction)
    SELECT of_token, made, f.side, FALSE, f.net, f.vat, payments[1 + f.place]
    FROM unnest(fee_sides, fee_nets, fee_vats) WITH ORDINALITY
        AS f (side, net, vat, place);
    PERFORM FROM register_post(moved_at, ARRAY[of_token], ARRAY['TRADE'],
        ARRAY[sell.ledger_account_id], ARRAY[buy.ledger_account_id],
        ARRAY[trade.quantity::numeric], ARRAY[''], ARRAY[requested_by],
        ARRAY[NULL::uuid], ARRAY[NULL::bigint], ARRAY[of_token], ARRAY[at_price],
        ARRAY['TRADE'], ARRAY[requested_by], '{}', '{}', '{}');
    INSERT INTO trading_execution (token_id, sequence, buy_order_id, sell_order_id,
        buyer_account_id, seller_account_id, price, quantity, aggressor, ledger_seq,
        cash_transaction, event, at, corrects)
    VALUES (of_token, made, buy.id, sell.id, trade.buyer_account_id,
        trade.seller_account_id, at_price, trade.quantity, trade.aggressor,
        undone.entry + 1, payments[1], undone.event + 3, undone.at, of_trade);
    INSERT INTO trading_orderevent (token_id, number, kind, order_id, price, quantity,
        trade, reason, actor, at)
    SELECT of_token, undone.event + 2 + s.side, 'TRADE_CORRECTED', s.id, at_price,
        trade.quantity, made, why, requested_by, undone.at
    FROM (VALUES (0, buy.id), (1, sell.id)) AS s (side, id) ORDER BY s.side;
    UPDATE trading_market m SET last_event = undone.event + 3, last_price = at_price
        WHERE m.token_id = of_token;
    PERFORM marketdata_record(of_token, head.last_sequence, '{}', '{}', '{}', '{}',
        ARRAY[at_price], ARRAY[trade.quantity], FALSE);
    PERFORM events_write(NULL, ARRAY[buy.partner_id, sell.partner_id],
        ARRAY['ORDER_TRADED', 'ORDER_TRADED'], ARRAY[buy.id, sell.id], NULL,
        ARRAY[of_token, of_token], ARRAY[buy.account_id, sell.account_id], NULL,
        ARRAY[undone.event + 2, undone.event + 3], ARRAY[at_price, at_price],
        ARRAY[trade.quantity, trade.quantity],
        ARRAY[buy.quantity - buy.filled, sell.quantity - sell.filled],
        ARRAY[made, made]);
    RETURN made;
END $$;
REVOKE ALL ON FUNCTION public.trading_correct(uuid, bigint, bigint, text, text, text)
    FROM PUBLIC;

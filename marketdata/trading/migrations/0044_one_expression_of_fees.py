"""One expression of fees."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_charge(of_token uuid, since_event bigint, judged_at timestamp with time zone)
RETURNS TABLE(heads bigint[], cents bigint[], trades bigint[], sides smallint[], payers bigint[], nets bigint[], vats bigint[], actors text[]) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
REVOKE ALL ON FUNCTION public.trading_charge(uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_fee_due(tariff trading_tariff, maker numeric, taker numeric, rest numeric)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    weighted numeric := maker * tariff.maker_bps + taker * tariff.taker_bps
        + rest * greatest(tariff.maker_bps, tariff.taker_bps);
    net numeric := least(tariff.maximum, greatest(tariff.minimum,
        div(2 * weighted + 10000, 20000)));
BEGIN
    IF maker + taker + rest = 0 THEN
        RETURN 0;
    END IF;
    RETURN net + div(2 * net * tariff.vat_bps + 10000, 20000);
END $$;
REVOKE ALL ON FUNCTION public.trading_fee_due(trading_tariff, numeric, numeric, numeric) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_undo(of_token uuid, of_trade bigint, why text, requested_by text, approved_by text)
RETURNS TABLE(entry bigint, payment bigint, event bigint, at timestamp with time zone) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_variable
DECLARE
    market trading_market;
    trade trading_execution;
    buy trading_order;
    sell trading_order;
    moved_at timestamptz;
    restored bigint;
    refunds integer := 0;
    refund_heads bigint[];
    refund_sides smallint[];
    refund_nets bigint[];
    refund_vats bigint[];
    freed_heads bigint[];
    freed_cents bigint[];
    payments bigint[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market m WHERE m.token_id = of_token;
    SELECT * INTO trade FROM trading_execution x
        WHERE x.token_id = of_token AND x.sequence = of_trade;
    SELECT * INTO buy FROM trading_order o WHERE o.id = trade.buy_order_id;
    SELECT * INTO sell FROM trading_order o WHERE o.id = trade.sell_order_id;
    IF trade.sequence IS NULL OR EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = of_token AND b.sequence = of_trade) THEN
        RAISE EXCEPTION 'A bust undoes a trade once: trade % of token %.', of_trade,
            of_token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = of_token FOR UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (buy.ledger_account_id, sell.ledger_account_id)
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (buy.cash_account_id, sell.cash_account_id,
            market.fees_account_id)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    moved_at := clock_timestamp();
    at := greatest(market.last_at, moved_at);
    event := market.last_event + 1;
    SELECT before.price_cents INTO restored
    FROM issuers_tokenledgerhead h
    JOIN issuers_tokenprice p ON p.token_id = of_token AND p.number = h.last_price
    JOIN issuers_tokenprice before
        ON before.token_id = of_token AND before.number = h.last_price - 1
    JOIN issuers_ledgertransaction l
        ON l.token_id = of_token AND l.seq = trade.ledger_seq
    WHERE h.token_id = of_token AND p.source = 'TRADE'
        AND p.effective_at = l.effective_at AND p.price_cents = trade.price;
    SELECT h.last_seq + 1 INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token;
    WITH fees AS (
        SELECT f.order_id, f.paid, f.reserved, o.side, o.cash_account_id, t AS tariff,
            f.maker_value - CASE WHEN trade.aggressor = o.side THEN 0 ELSE v.value END
                AS maker,
            f.taker_value - CASE WHEN trade.aggressor = o.side THEN v.value ELSE 0 END
                AS taker,
            CASE WHEN o.side = 0 AND o.status = 'OPEN'
                THEN (o.quantity - o.filled)::numeric * o.limit_price ELSE 0 END AS rest
        FROM trading_orderfee f
        JOIN trading_order o ON o.id = f.order_id
        JOIN trading_tariff t ON t.id = f.tariff_id
        CROSS JOIN (SELECT trade.price * trade.quantity AS value) v
        WHERE f.order_id IN (buy.id, sell.id)
    ), remain AS (
        SELECT f.*, least(f.paid, trading_fee_due(f.tariff, f.maker, f.taker, 0),
                CASE f.side WHEN 1 THEN f.maker + f.taker END) AS remains
        FROM fees f
    ), held AS MATERIALIZED (
        SELECT r.*, CASE r.rest WHEN 0 THEN 0 ELSE
                trading_fee_due(r.tariff, r.maker, r.taker, r.rest) - r.remains END
                AS holds,
            trading_fee_net(r.paid, (r.tariff).vat_bps)
                - trading_fee_net(r.remains, (r.tariff).vat_bps) AS net
        FROM remain r
    ), kept AS (
        UPDATE trading_orderfee f SET maker_value = h.maker, taker_value = h.taker,
            paid = h.remains, reserved = h.holds
        FROM held h WHERE f.order_id = h.order_id
    )
    SELECT b.refunds, b.heads, b.sides, b.nets, b.vats, r.heads, r.cents
    INTO refunds, refund_heads, refund_sides, refund_nets, refund_vats, freed_heads,
        freed_cents
    FROM (
        SELECT count(*)::integer AS refunds,
            array_agg(h.cash_account_id ORDER BY h.side) AS heads,
            array_agg(h.side ORDER BY h.side) AS sides,
            array_agg(h.net::bigint ORDER BY h.side) AS nets,
            array_agg((h.paid - h.remains - h.net)::bigint ORDER BY h.side) AS vats
        FROM held h WHERE h.paid > h.remains
    ) b, (
        SELECT coalesce(array_agg(h.cash_account_id), '{}') AS heads,
            coalesce(array_agg((h.holds - h.reserved)::bigint), '{}') AS cents
        FROM held h WHERE h.holds <> h.reserved
    ) r;
    -- The seller gives the cash back after the fee has come back.
    payments := cash_post(moved_at,
        array_fill('FEE'::text, ARRAY[refunds]) || ARRAY['REVERSAL'::text],
        array_fill(market.fees_account_id, ARRAY[refunds]) || sell.cash_account_id,
        refund_heads || buy.cash_account_id,
        ARRAY(SELECT f.net + f.vat FROM unnest(refund_nets, refund_vats) WITH ORDINALITY
            AS f (net, vat, place) ORDER BY f.place) || trade.price * trade.quantity,
        array_fill(requested_by, ARRAY[refunds + 1]),
        array_fill(why, ARRAY[refunds + 1]), array_fill(NULL::text, ARRAY[refunds + 1]),
        array_fill(NULL::bigint, ARRAY[refunds]) || trade.cash_transaction,
        array_fill(NULL::bigint, ARRAY[refunds + 1]),
        array_fill(NULL::uuid, ARRAY[refunds + 1]), freed_heads, freed_cents);
    payment := payments[refunds + 1];
    INSERT INTO trading_executionfee (token_id, sequence, side, is_refund, net, vat,
        cash_transaction)
    SELECT of_token, of_trade, f.side, TRUE, -f.net, -f.vat, payments[f.place]
    FROM unnest(refund_sides, refund_nets, refund_vats) WITH ORDINALITY
        AS f (side, net, vat, place);
    INSERT INTO trading_bust (token_id, sequence, ledger_seq, cash_transaction, reason,
        requested_by, approved_by, event, at)
    VALUES (of_token, of_trade, entry, payment, why, requested_by, approved_by, event,
        at);
    -- The trading day is counted anew, without the trade.
    UPDATE marketdata_tradingday d
    SET open_cents = coalesce(f.opening, d.open_cents),
        high_cents = coalesce(f.high, d.high_cents),
        low_cents = coalesce(f.low, d.low_cents),
        close_cents = coalesce(f.closing, d.close_cents),
        volume = f.volume, value_cents = f.value, trades = f.trades
    FROM marketdata_tradingday o
    CROSS JOIN LATERAL (
        SELECT (array_agg(t.price_cents ORDER BY t.sequence))[1] AS opening,
            max(t.price_cents) AS high, min(t.price_cents) AS low,
            (array_agg(t.price_cents ORDER BY t.sequence DESC))[1] AS closing,
            coalesce(sum(t.quantity), 0) AS volume,
            coalesce(sum(t.price_cents::numeric * t.quantity), 0) AS value,
            count(*) AS trades
        FROM marketdata_trade t
        WHERE t.token_id = o.token_id
            AND t.sequence BETWEEN o.first_trade AND o.last_trade
            AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    ) f
    WHERE o.token_id = of_token AND of_trade BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    PERFORM FROM register_post(moved_at, ARRAY[of_token], ARRAY['REVERSAL'],
        ARRAY[buy.ledger_account_id], ARRAY[sell.ledger_account_id],
        ARRAY[trade.quantity::numeric], ARRAY[why], ARRAY[requested_by],
        ARRAY[NULL::uuid], ARRAY[trade.ledger_seq],
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[of_token] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[restored] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY['MANUAL'] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[requested_by] END,
        '{}', '{}', '{}');
    INSERT INTO trading_orderevent (token_id, number, kind, order_id, price, quantity,
        trade, reason, actor, at)
    SELECT of_token, event + s.side, 'TRADE_BUSTED', s.id, trade.price, trade.quantity,
        of_trade, why, requested_by, at
    FROM (VALUES (0, buy.id), (1, sell.id)) AS s (side, id) ORDER BY s.side;
    UPDATE trading_market m SET last_event = event + 1, last_at = at,
        last_price = coalesce((SELECT x.price FROM trading_execution x
            WHERE x.token_id = of_token AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
            ORDER BY x.sequence DESC LIMIT 1), m.last_price)
        WHERE m.token_id = of_token;
    PERFORM events_write(NULL, ARRAY[buy.partner_id, sell.partner_id],
        ARRAY['TRADE_BUSTED', 'TRADE_BUSTED'], ARRAY[buy.id, sell.id], NULL,
        ARRAY[of_token, of_token], ARRAY[buy.account_id, sell.account_id], NULL,
        ARRAY[event, event + 1], ARRAY[trade.price, trade.price],
        ARRAY[trade.quantity, trade.quantity], NULL, ARRAY[of_trade, of_trade]);
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION public.trading_undo(uuid, bigint, text, text, text) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_charge(of_token uuid, since_event bigint, judged_at timestamp with time zone)
RETURNS TABLE(heads bigint[], cents bigint[], trades bigint[], sides smallint[], payers bigint[], nets bigint[], vats bigint[], actors text[]) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
            f.maker_value + f.taker_value AS value_before, t.maker_bps, t.taker_bps,
            t.minimum, t.maximum, t.vat_bps, o.side, o.cash_account_id,
            CASE WHEN o.side = 0 AND o.status = 'OPEN'
                THEN (o.quantity - o.filled)::numeric * o.limit_price END AS rest,
            f.maker_value + sum(CASE WHEN e.takes THEN 0 ELSE e.value END) OVER by_order
                AS maker,
            f.taker_value + sum(CASE WHEN e.takes THEN e.value ELSE 0 END) OVER by_order
                AS taker
        FROM events e
        -- LATERAL looks each row up, whatever the planner knows of the tables.
        CROSS JOIN LATERAL (
            SELECT * FROM trading_orderfee x WHERE x.order_id = e.order_id LIMIT 1) f
        CROSS JOIN LATERAL (
            SELECT * FROM trading_tariff x WHERE x.id = f.tariff_id LIMIT 1) t
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
        WINDOW by_order AS (PARTITION BY e.order_id ORDER BY e.number)
    ), due AS (
        SELECT t.*, t.maker + t.taker AS value, CASE WHEN t.maker + t.taker = 0 THEN 0
            ELSE trading_fee(t.maker * t.maker_bps + t.taker * t.taker_bps, t.minimum,
                t.maximum, t.vat_bps) END AS due
        FROM traded t
    ), paid AS (
        SELECT d.*, CASE d.side WHEN 0 THEN d.due ELSE d.value + least(
                d.paid_before - d.value_before, min(d.due - d.value) OVER by_order) END
                AS paid
        FROM due d WINDOW by_order AS (PARTITION BY d.order_id ORDER BY d.number)
    ), steps AS MATERIALIZED (
        SELECT p.*, p.paid - coalesce(lag(p.paid) OVER by_order, p.paid_before) AS total,
            trading_fee_net(p.paid, p.vat_bps) - trading_fee_net(coalesce(
                lag(p.paid) OVER by_order, p.paid_before), p.vat_bps) AS net,
            lead(p.number) OVER by_order IS NULL AS is_last
        FROM paid p WINDOW by_order AS (PARTITION BY p.order_id ORDER BY p.number)
    ), ends AS MATERIALIZED (
        SELECT s.*, CASE WHEN s.rest IS NULL THEN 0 ELSE trading_fee(
                s.maker * s.maker_bps + s.taker * s.taker_bps
                    + s.rest * greatest(s.maker_bps, s.taker_bps),
                s.minimum, s.maximum, s.vat_bps) - s.paid END AS holds
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
REVOKE ALL ON FUNCTION public.trading_charge(uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_undo(of_token uuid, of_trade bigint, why text, requested_by text, approved_by text)
RETURNS TABLE(entry bigint, payment bigint, event bigint, at timestamp with time zone) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_variable
DECLARE
    market trading_market;
    trade trading_execution;
    buy trading_order;
    sell trading_order;
    moved_at timestamptz;
    restored bigint;
    refunds integer := 0;
    refund_heads bigint[];
    refund_sides smallint[];
    refund_nets bigint[];
    refund_vats bigint[];
    freed_heads bigint[];
    freed_cents bigint[];
    payments bigint[];
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market m WHERE m.token_id = of_token;
    SELECT * INTO trade FROM trading_execution x
        WHERE x.token_id = of_token AND x.sequence = of_trade;
    SELECT * INTO buy FROM trading_order o WHERE o.id = trade.buy_order_id;
    SELECT * INTO sell FROM trading_order o WHERE o.id = trade.sell_order_id;
    IF trade.sequence IS NULL OR EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = of_token AND b.sequence = of_trade) THEN
        RAISE EXCEPTION 'A bust undoes a trade once: trade % of token %.', of_trade,
            of_token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM issuers_tokenledgerhead h WHERE h.token_id = of_token FOR UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (buy.ledger_account_id, sell.ledger_account_id)
        ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id IN (buy.cash_account_id, sell.cash_account_id,
            market.fees_account_id)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    moved_at := clock_timestamp();
    at := greatest(market.last_at, moved_at);
    event := market.last_event + 1;
    SELECT before.price_cents INTO restored
    FROM issuers_tokenledgerhead h
    JOIN issuers_tokenprice p ON p.token_id = of_token AND p.number = h.last_price
    JOIN issuers_tokenprice before
        ON before.token_id = of_token AND before.number = h.last_price - 1
    JOIN issuers_ledgertransaction l
        ON l.token_id = of_token AND l.seq = trade.ledger_seq
    WHERE h.token_id = of_token AND p.source = 'TRADE'
        AND p.effective_at = l.effective_at AND p.price_cents = trade.price;
    SELECT h.last_seq + 1 INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token;
    WITH fees AS (
        SELECT f.order_id, f.paid, f.reserved, o.side, o.cash_account_id, t.maker_bps,
            t.taker_bps, t.minimum, t.maximum, t.vat_bps,
            f.maker_value - CASE WHEN trade.aggressor = o.side THEN 0 ELSE v.value END
                AS maker,
            f.taker_value - CASE WHEN trade.aggressor = o.side THEN v.value ELSE 0 END
                AS taker,
            CASE WHEN o.side = 0 AND o.status = 'OPEN'
                THEN (o.quantity - o.filled)::numeric * o.limit_price END AS rest
        FROM trading_orderfee f
        JOIN trading_order o ON o.id = f.order_id
        JOIN trading_tariff t ON t.id = f.tariff_id
        CROSS JOIN (SELECT trade.price * trade.quantity AS value) v
        WHERE f.order_id IN (buy.id, sell.id)
    ), remain AS (
        SELECT f.*, CASE WHEN f.maker + f.taker = 0 THEN 0 ELSE least(f.paid,
                trading_fee(f.maker::numeric * f.maker_bps + f.taker::numeric
                    * f.taker_bps, f.minimum, f.maximum, f.vat_bps),
                CASE f.side WHEN 1 THEN f.maker + f.taker END) END AS remains
        FROM fees f
    ), held AS MATERIALIZED (
        SELECT r.*, CASE WHEN r.rest IS NULL THEN 0 ELSE trading_fee(
                r.maker::numeric * r.maker_bps + r.taker::numeric * r.taker_bps
                    + r.rest * greatest(r.maker_bps, r.taker_bps),
                r.minimum, r.maximum, r.vat_bps) - r.remains END AS holds,
            trading_fee_net(r.paid, r.vat_bps) - trading_fee_net(r.remains, r.vat_bps)
                AS net
        FROM remain r
    ), kept AS (
        UPDATE trading_orderfee f SET maker_value = h.maker, taker_value = h.taker,
            paid = h.remains, reserved = h.holds
        FROM held h WHERE f.order_id = h.order_id
    )
    SELECT b.refunds, b.heads, b.sides, b.nets, b.vats, r.heads, r.cents
    INTO refunds, refund_heads, refund_sides, refund_nets, refund_vats, freed_heads,
        freed_cents
    FROM (
        SELECT count(*)::integer AS refunds,
            array_agg(h.cash_account_id ORDER BY h.side) AS heads,
            array_agg(h.side ORDER BY h.side) AS sides,
            array_agg(h.net::bigint ORDER BY h.side) AS nets,
            array_agg((h.paid - h.remains - h.net)::bigint ORDER BY h.side) AS vats
        FROM held h WHERE h.paid > h.remains
    ) b, (
        SELECT coalesce(array_agg(h.cash_account_id), '{}') AS heads,
            coalesce(array_agg((h.holds - h.reserved)::bigint), '{}') AS cents
        FROM held h WHERE h.holds <> h.reserved
    ) r;
    -- The seller gives the cash back after the fee has come back.
    payments := cash_post(moved_at,
        array_fill('FEE'::text, ARRAY[refunds]) || ARRAY['REVERSAL'::text],
        array_fill(market.fees_account_id, ARRAY[refunds]) || sell.cash_account_id,
        refund_heads || buy.cash_account_id,
        ARRAY(SELECT f.net + f.vat FROM unnest(refund_nets, refund_vats) WITH ORDINALITY
            AS f (net, vat, place) ORDER BY f.place) || trade.price * trade.quantity,
        array_fill(requested_by, ARRAY[refunds + 1]),
        array_fill(why, ARRAY[refunds + 1]), array_fill(NULL::text, ARRAY[refunds + 1]),
        array_fill(NULL::bigint, ARRAY[refunds]) || trade.cash_transaction,
        array_fill(NULL::bigint, ARRAY[refunds + 1]),
        array_fill(NULL::uuid, ARRAY[refunds + 1]), freed_heads, freed_cents);
    payment := payments[refunds + 1];
    INSERT INTO trading_executionfee (token_id, sequence, side, is_refund, net, vat,
        cash_transaction)
    SELECT of_token, of_trade, f.side, TRUE, -f.net, -f.vat, payments[f.place]
    FROM unnest(refund_sides, refund_nets, refund_vats) WITH ORDINALITY
        AS f (side, net, vat, place);
    INSERT INTO trading_bust (token_id, sequence, ledger_seq, cash_transaction, reason,
        requested_by, approved_by, event, at)
    VALUES (of_token, of_trade, entry, payment, why, requested_by, approved_by, event,
        at);
    -- The trading day is counted anew, without the trade.
    UPDATE marketdata_tradingday d
    SET open_cents = coalesce(f.opening, d.open_cents),
        high_cents = coalesce(f.high, d.high_cents),
        low_cents = coalesce(f.low, d.low_cents),
        close_cents = coalesce(f.closing, d.close_cents),
        volume = f.volume, value_cents = f.value, trades = f.trades
    FROM marketdata_tradingday o
    CROSS JOIN LATERAL (
        SELECT (array_agg(t.price_cents ORDER BY t.sequence))[1] AS opening,
            max(t.price_cents) AS high, min(t.price_cents) AS low,
            (array_agg(t.price_cents ORDER BY t.sequence DESC))[1] AS closing,
            coalesce(sum(t.quantity), 0) AS volume,
            coalesce(sum(t.price_cents::numeric * t.quantity), 0) AS value,
            count(*) AS trades
        FROM marketdata_trade t
        WHERE t.token_id = o.token_id
            AND t.sequence BETWEEN o.first_trade AND o.last_trade
            AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    ) f
    WHERE o.token_id = of_token AND of_trade BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    PERFORM FROM register_post(moved_at, ARRAY[of_token], ARRAY['REVERSAL'],
        ARRAY[buy.ledger_account_id], ARRAY[sell.ledger_account_id],
        ARRAY[trade.quantity::numeric], ARRAY[why], ARRAY[requested_by],
        ARRAY[NULL::uuid], ARRAY[trade.ledger_seq],
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[of_token] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[restored] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY['MANUAL'] END,
        CASE WHEN restored IS NULL THEN '{}' ELSE ARRAY[requested_by] END,
        '{}', '{}', '{}');
    INSERT INTO trading_orderevent (token_id, number, kind, order_id, price, quantity,
        trade, reason, actor, at)
    SELECT of_token, event + s.side, 'TRADE_BUSTED', s.id, trade.price, trade.quantity,
        of_trade, why, requested_by, at
    FROM (VALUES (0, buy.id), (1, sell.id)) AS s (side, id) ORDER BY s.side;
    UPDATE trading_market m SET last_event = event + 1, last_at = at,
        last_price = coalesce((SELECT x.price FROM trading_execution x
            WHERE x.token_id = of_token AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
            ORDER BY x.sequence DESC LIMIT 1), m.last_price)
        WHERE m.token_id = of_token;
    PERFORM events_write(NULL, ARRAY[buy.partner_id, sell.partner_id],
        ARRAY['TRADE_BUSTED', 'TRADE_BUSTED'], ARRAY[buy.id, sell.id], NULL,
        ARRAY[of_token, of_token], ARRAY[buy.account_id, sell.account_id], NULL,
        ARRAY[event, event + 1], ARRAY[trade.price, trade.price],
        ARRAY[trade.quantity, trade.quantity], NULL, ARRAY[of_trade, of_trade]);
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION public.trading_undo(uuid, bigint, text, text, text) FROM PUBLIC;

DROP FUNCTION public.trading_fee_due(trading_tariff, numeric, numeric, numeric);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0043_auctions_sql"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

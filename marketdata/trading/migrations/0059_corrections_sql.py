"""A trade is corrected in price: bust and new trade in one commit."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_announce_bust(of_token uuid, of_trade bigint, at_price bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_variable
BEGIN
    PERFORM events_write(NULL, ARRAY[b.partner_id, s.partner_id],
        ARRAY['TRADE_BUST_REQUESTED', 'TRADE_BUST_REQUESTED'], ARRAY[b.id, s.id], NULL,
        ARRAY[of_token, of_token], ARRAY[b.account_id, s.account_id], NULL, NULL,
        ARRAY[at_price, at_price], ARRAY[x.quantity, x.quantity], NULL,
        ARRAY[of_trade, of_trade])
    FROM trading_execution x
    JOIN trading_order b ON b.id = x.buy_order_id
    JOIN trading_order s ON s.id = x.sell_order_id
    WHERE x.token_id = of_token AND x.sequence = of_trade;
END $$;
REVOKE ALL ON FUNCTION public.trading_announce_bust(uuid, bigint, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_correct(of_token uuid, of_trade bigint, at_price bigint, why text, requested_by text, approved_by text)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
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
REVOKE ALL ON FUNCTION public.trading_correct(uuid, bigint, bigint, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_could_fill(of_token uuid, killed uuid, killed_event bigint, since_event bigint, judged_at timestamp with time zone)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    taker trading_order;
BEGIN
    SELECT * INTO taker FROM trading_order o WHERE o.id = killed;
    IF EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.token_id = of_token AND r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ledger_account_id = taker.ledger_account_id
                AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp())) THEN
        RETURN FALSE;
    END IF;
    RETURN (
        WITH met AS MATERIALIZED (
            SELECT q.id, q.user_id, q.ledger_account_id, s.remaining, s.priority,
                CASE q.side WHEN 1 THEN s.price ELSE -s.price END AS price
            FROM (
                SELECT o.id FROM trading_order o
                WHERE o.token_id = of_token AND o.side = 1 AND o.status = 'OPEN'
                    AND taker.side = 0 AND o.limit_price <= taker.limit_price
                UNION
                SELECT o.id FROM trading_order o
                WHERE o.token_id = of_token AND o.side = 0 AND o.status = 'OPEN'
                    AND taker.side = 1 AND o.limit_price >= taker.limit_price
                UNION
                SELECT e.order_id FROM trading_orderevent e
                WHERE e.token_id = of_token AND e.number > since_event
            ) c
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order o WHERE o.id = c.id LIMIT 1) q
            -- As it stood: later events of the call may have changed it.
            CROSS JOIN LATERAL (
                SELECT e.price, e.priority, (
                    SELECT CASE WHEN x.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
                        THEN 0 ELSE x.remaining END
                    FROM trading_orderevent x
                    WHERE x.order_id = q.id AND x.number < killed_event
                        AND x.kind NOT IN ('TRADE_BUSTED', 'TRADE_CORRECTED')
                    ORDER BY x.number DESC LIMIT 1) AS remaining
                FROM trading_orderevent e
                WHERE e.order_id = q.id AND e.number < killed_event
                    AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
                ORDER BY e.number DESC LIMIT 1
            ) s
            WHERE q.side = 1 - taker.side AND s.remaining > 0
                AND (q.expires_at > judged_at) IS NOT FALSE
        )
        SELECT coalesce(sum(m.remaining), 0) >= taker.quantity
        FROM met m
        WHERE m.price <= CASE taker.side WHEN 0 THEN taker.limit_price
                ELSE -taker.limit_price END
            AND NOT EXISTS (SELECT FROM met own WHERE own.user_id = taker.user_id
                AND (own.price, own.priority) <= (m.price, m.priority))
            AND NOT EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id = m.ledger_account_id
                    AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp())));
END $$;
REVOKE ALL ON FUNCTION public.trading_could_fill(uuid, uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_told_bust()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    used uuid;
BEGIN
    PERFORM FROM trading_execution x
    JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
        AND l.seq = NEW.ledger_seq AND l.kind = 'REVERSAL' AND l.reverses = x.ledger_seq
    JOIN accounts_cashtransaction c ON c.id = NEW.cash_transaction
        AND c.kind = 'REVERSAL' AND c.reverses_id = x.cash_transaction
    WHERE x.token_id = NEW.token_id AND x.sequence = NEW.sequence;
    IF NOT FOUND OR NEW.at > clock_timestamp() OR 2 <> (
        SELECT count(*) FROM trading_orderevent e WHERE e.token_id = NEW.token_id
            AND e.number BETWEEN NEW.event AND NEW.event + 1
            AND e.kind = 'TRADE_BUSTED'
            AND e.trade = NEW.sequence AND e.at = NEW.at) THEN
        RAISE EXCEPTION 'A bust undoes the entry and the payment of a trade, with an '
            'event of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('BUST', jsonb_build_object('token', NEW.token_id,
        'trade', NEW.sequence, 'reason', NEW.reason) || coalesce((
            SELECT jsonb_build_object('price', y.price) FROM trading_execution y
            WHERE y.token_id = NEW.token_id AND y.ledger_seq = NEW.ledger_seq + 1
                AND y.corrects = NEW.sequence), '{}'), NULL, NEW.token_id,
        NEW.ledger_seq);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE r.id = used AND f.email = NEW.requested_by AND u.email = NEW.approved_by)
    THEN
        RAISE EXCEPTION 'A bust names who asked for it and who approved it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_bust() FROM PUBLIC;

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
            WHERE b.token_id = of_token AND b.sequence = of_trade)
        OR EXISTS (SELECT FROM trading_auction a WHERE a.token_id = of_token
            AND a.fills IS NOT NULL AND a.ended IS NULL) THEN
        RAISE EXCEPTION 'A bust undoes a trade once, and not while an auction settles: '
            'trade % of token %.', of_trade, of_token
            USING ERRCODE = 'restrict_violation';
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
    SELECT CASE WHEN other.at > before.effective_at
            THEN nullif(other.price, trade.price) ELSE before.price_cents END
    INTO restored
    FROM issuers_tokenledgerhead h
    JOIN issuers_tokenprice p ON p.token_id = of_token AND p.number = h.last_price
    JOIN issuers_tokenprice before
        ON before.token_id = of_token AND before.number = h.last_price - 1
    JOIN issuers_ledgertransaction l
        ON l.token_id = of_token AND l.seq = trade.ledger_seq
    LEFT JOIN LATERAL (
        SELECT x.price, x.at FROM trading_execution x
        WHERE x.token_id = of_token AND x.sequence <> of_trade AND NOT EXISTS (
            SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
        ORDER BY x.sequence DESC LIMIT 1
    ) other ON TRUE
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
            ORDER BY x.sequence DESC LIMIT 1), m.reference_price)
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
CREATE OR REPLACE FUNCTION public.trading_could_fill(of_token uuid, killed uuid, killed_event bigint, since_event bigint, judged_at timestamp with time zone)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    taker trading_order;
BEGIN
    SELECT * INTO taker FROM trading_order o WHERE o.id = killed;
    IF EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.token_id = of_token AND r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ledger_account_id = taker.ledger_account_id
                AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp())) THEN
        RETURN FALSE;
    END IF;
    RETURN (
        WITH met AS MATERIALIZED (
            SELECT q.id, q.user_id, q.ledger_account_id, s.remaining, s.priority,
                CASE q.side WHEN 1 THEN s.price ELSE -s.price END AS price
            FROM (
                SELECT o.id FROM trading_order o
                WHERE o.token_id = of_token AND o.side = 1 AND o.status = 'OPEN'
                    AND taker.side = 0 AND o.limit_price <= taker.limit_price
                UNION
                SELECT o.id FROM trading_order o
                WHERE o.token_id = of_token AND o.side = 0 AND o.status = 'OPEN'
                    AND taker.side = 1 AND o.limit_price >= taker.limit_price
                UNION
                SELECT e.order_id FROM trading_orderevent e
                WHERE e.token_id = of_token AND e.number > since_event
            ) c
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order o WHERE o.id = c.id LIMIT 1) q
            -- As it stood: later events of the call may have changed it.
            CROSS JOIN LATERAL (
                SELECT e.price, e.priority, (
                    SELECT CASE WHEN x.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
                        THEN 0 ELSE x.remaining END
                    FROM trading_orderevent x
                    WHERE x.order_id = q.id AND x.number < killed_event
                        AND x.kind <> 'TRADE_BUSTED'
                    ORDER BY x.number DESC LIMIT 1) AS remaining
                FROM trading_orderevent e
                WHERE e.order_id = q.id AND e.number < killed_event
                    AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
                ORDER BY e.number DESC LIMIT 1
            ) s
            WHERE q.side = 1 - taker.side AND s.remaining > 0
                AND (q.expires_at > judged_at) IS NOT FALSE
        )
        SELECT coalesce(sum(m.remaining), 0) >= taker.quantity
        FROM met m
        WHERE m.price <= CASE taker.side WHEN 0 THEN taker.limit_price
                ELSE -taker.limit_price END
            AND NOT EXISTS (SELECT FROM met own WHERE own.user_id = taker.user_id
                AND (own.price, own.priority) <= (m.price, m.priority))
            AND NOT EXISTS (SELECT FROM issuers_restriction r
                WHERE r.ledger_account_id = m.ledger_account_id
                    AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp())));
END $$;
REVOKE ALL ON FUNCTION public.trading_could_fill(uuid, uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_told_bust()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
DECLARE
    used uuid;
BEGIN
    PERFORM FROM trading_execution x
    JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
        AND l.seq = NEW.ledger_seq AND l.kind = 'REVERSAL' AND l.reverses = x.ledger_seq
    JOIN accounts_cashtransaction c ON c.id = NEW.cash_transaction
        AND c.kind = 'REVERSAL' AND c.reverses_id = x.cash_transaction
    WHERE x.token_id = NEW.token_id AND x.sequence = NEW.sequence;
    IF NOT FOUND OR NEW.at > clock_timestamp() OR 2 <> (
        SELECT count(*) FROM trading_orderevent e WHERE e.token_id = NEW.token_id
            AND e.number BETWEEN NEW.event AND NEW.event + 1
            AND e.kind = 'TRADE_BUSTED'
            AND e.trade = NEW.sequence AND e.at = NEW.at) THEN
        RAISE EXCEPTION 'A bust undoes the entry and the payment of a trade, with an '
            'event of each order: trade % of token %.', NEW.sequence, NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    used := approvals_use('BUST', jsonb_build_object('token', NEW.token_id,
        'trade', NEW.sequence, 'reason', NEW.reason), NULL, NEW.token_id,
        NEW.ledger_seq);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvalrequest r
        JOIN accounts_approvaldecision d ON d.request_id = r.id
        JOIN accounts_user f ON f.id = r.filed_by_id
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE r.id = used AND f.email = NEW.requested_by AND u.email = NEW.approved_by)
    THEN
        RAISE EXCEPTION 'A bust names who asked for it and who approved it.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_told_bust() FROM PUBLIC;

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
            WHERE b.token_id = of_token AND b.sequence = of_trade)
        OR EXISTS (SELECT FROM trading_auction a WHERE a.token_id = of_token
            AND a.fills IS NOT NULL AND a.ended IS NULL) THEN
        RAISE EXCEPTION 'A bust undoes a trade once, and not while an auction settles: '
            'trade % of token %.', of_trade, of_token
            USING ERRCODE = 'restrict_violation';
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
    SELECT CASE WHEN other.at > before.effective_at
            THEN nullif(other.price, trade.price) ELSE before.price_cents END
    INTO restored
    FROM issuers_tokenledgerhead h
    JOIN issuers_tokenprice p ON p.token_id = of_token AND p.number = h.last_price
    JOIN issuers_tokenprice before
        ON before.token_id = of_token AND before.number = h.last_price - 1
    JOIN issuers_ledgertransaction l
        ON l.token_id = of_token AND l.seq = trade.ledger_seq
    LEFT JOIN LATERAL (
        SELECT x.price, x.at FROM trading_execution x
        WHERE x.token_id = of_token AND x.sequence <> of_trade AND NOT EXISTS (
            SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
        ORDER BY x.sequence DESC LIMIT 1
    ) other ON TRUE
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

DROP FUNCTION public.trading_announce_bust(uuid, bigint, bigint);

DROP FUNCTION public.trading_correct(uuid, bigint, bigint, text, text, text);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0058_corrections_are_validated"),
        ("accounts", "0088_corrections_sql"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

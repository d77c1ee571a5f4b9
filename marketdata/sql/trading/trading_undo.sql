-- Busts a trade whole, once: its units and its cash go back with what each order then
-- has paid too much in fees, each order gets an event,
-- and if its own price is still the token's last, the one before it is recorded anew:
-- that of the last other trade that stands, where no price is newer. The commit uses an
-- approval where policy asks for one. Returns the numbers of the entry and of the
-- payment, the buyer's event, and its time.
-- called by: application, trading_correct
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE), issuers_ledgeraccount (FOR SHARE),
--     issuers_tokenledgerhead (FOR UPDATE), marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_undo(
    of_token uuid, of_trade bigint, why text, requested_by text, approved_by text
)
RETURNS TABLE(entry bigint, payment bigint, event bigint, at timestamp with time zone)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
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
    PERFORM register_mark(ARRAY[of_token]);
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

-- Settles the next fills of an auction, so many at most, as they are listed: executions,
-- entries, payments, fees, the market's log. With the last one the tape and the book
-- show the result, the orders' partners have their events, and the next phase begins.
-- Rules and restrictions are not judged: they admitted the fills when these were listed,
-- and what came since, such as a freeze, does not undo a trade that binds. Units and
-- cash are those that the orders reserve.
-- Returns the number of fills that are left.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_cashhead (FOR NO KEY UPDATE), issuers_ledgeraccount (FOR SHARE),
--     issuers_tokenledgerhead (FOR UPDATE), marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_settle(of_token uuid, most integer)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    market trading_market;
    auction trading_auction;
    entry bigint;
    moved_at timestamptz;
    settled_at timestamptz;
    batch integer;
    is_last boolean;
    buys uuid[];
    sells uuid[];
    quantities bigint[];
    buyers bigint[];
    sellers bigint[];
    paid_by bigint[];
    paid_to bigint[];
    actors text[];
    held_accounts bigint[];
    held_units numeric[];
    held_heads bigint[];
    held_cents bigint[];
    fees integer := 0;
    fee_trades bigint[];
    fee_sides smallint[];
    fee_payers bigint[];
    fee_nets bigint[];
    fee_vats bigint[];
    fee_actors text[];
    paid bigint[] := ARRAY[]::bigint[];
    sides smallint[];
    prices bigint[];
    rests bigint[];
    ends boolean[];
    deals bigint[];
BEGIN
    PERFORM accounts_read_committed();
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    SELECT * INTO auction FROM trading_auction
        WHERE token_id = of_token AND began = market.last_phase_event
            AND fills IS NOT NULL AND ended IS NULL;
    IF NOT FOUND OR (most BETWEEN 1 AND 5000) IS NOT TRUE THEN
        RAISE EXCEPTION 'The fills of an auction settle once they are listed, 5,000 at '
            'most at a time: %.', of_token USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM register_mark(ARRAY[of_token]);
    SELECT h.last_seq INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token FOR UPDATE;
    SELECT array_agg(f.buy_order_id ORDER BY f.place),
        array_agg(f.sell_order_id ORDER BY f.place),
        array_agg(f.quantity ORDER BY f.place),
        array_agg(b.ledger_account_id ORDER BY f.place),
        array_agg(s.ledger_account_id ORDER BY f.place),
        array_agg(b.cash_account_id ORDER BY f.place),
        array_agg(s.cash_account_id ORDER BY f.place),
        array_fill('market'::text, ARRAY[count(*)::integer]), count(*)
    INTO buys, sells, quantities, buyers, sellers, paid_by, paid_to, actors, batch
    FROM trading_auctionfill f
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = f.buy_order_id LIMIT 1) b
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = f.sell_order_id LIMIT 1) s
    WHERE f.token_id = of_token AND f.began = auction.began
        AND f.place > auction.settled AND f.place <= auction.settled + most;
    is_last := auction.settled + batch = auction.fills;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id = ANY (sellers || buyers) ORDER BY a.id FOR SHARE;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (paid_to || paid_by || market.fees_account_id)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    moved_at := clock_timestamp();
    settled_at := greatest(market.last_at, moved_at);
    IF batch > 0 THEN
        WITH events AS MATERIALIZED (
            SELECT u.place, s.side, s.id, u.units,
                market.last_event + 2 * u.place - 1 + s.side AS number,
                o.filled + sum(u.units) OVER by_order AS filled,
                o.filled_value + sum(u.units * auction.price) OVER by_order AS value,
                o.quantity, o.limit_price, o.ledger_account_id, o.cash_account_id,
                lead(u.place) OVER by_order IS NULL AS is_last
            FROM unnest(buys, sells, quantities) WITH ORDINALITY
                AS u (buy, sell, units, place)
            CROSS JOIN LATERAL (VALUES (u.buy, 0), (u.sell, 1)) AS s (id, side)
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order x WHERE x.id = s.id LIMIT 1) o
            WINDOW by_order AS (PARTITION BY s.id ORDER BY u.place)
        ), noted AS (
            INSERT INTO trading_orderevent (token_id, number, kind, order_id, price,
                quantity, filled, remaining, value, trade, reason, actor, at)
            SELECT of_token, e.number, 'ORDER_TRADED', e.id, auction.price, e.units,
                e.filled, e.quantity - e.filled, e.value,
                auction.first_trade + auction.settled + e.place, '', 'market', settled_at
            FROM events e
        ), updated AS (
            UPDATE trading_order o SET filled = e.filled, filled_value = e.value,
                status = CASE e.quantity - e.filled WHEN 0 THEN 'FILLED' ELSE 'OPEN' END,
                last_event = e.number, updated_at = settled_at
            FROM events e WHERE e.is_last AND o.id = e.id
        ), held AS (
            SELECT e.side, CASE e.side WHEN 1 THEN e.ledger_account_id
                    ELSE e.cash_account_id END AS account,
                sum(-e.units * CASE e.side WHEN 1 THEN 1 ELSE e.limit_price END)
                    AS delta
            FROM events e GROUP BY 1, 2
        )
        SELECT array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 1),
            array_agg(h.delta::numeric ORDER BY h.account) FILTER (WHERE h.side = 1),
            array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 0),
            array_agg(h.delta::bigint ORDER BY h.account) FILTER (WHERE h.side = 0)
        INTO held_accounts, held_units, held_heads, held_cents FROM held h;
        IF market.fees_account_id IS NOT NULL THEN
            SELECT held_heads || c.heads, held_cents || c.cents, cardinality(c.trades),
                c.trades, c.sides, c.payers, c.nets, c.vats, c.actors
            INTO held_heads, held_cents, fees, fee_trades, fee_sides, fee_payers,
                fee_nets, fee_vats, fee_actors
            FROM trading_charge(of_token, market.last_event, settled_at) c;
        END IF;
        PERFORM FROM register_enter(moved_at, FALSE,
            array_fill(of_token, ARRAY[batch]), array_fill('TRADE'::text, ARRAY[batch]),
            sellers, buyers, quantities::numeric[], array_fill(''::text, ARRAY[batch]),
            actors, array_fill(NULL::uuid, ARRAY[batch]),
            array_fill(NULL::bigint, ARRAY[batch]), NULL,
            CASE WHEN is_last THEN ARRAY[of_token] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY[auction.price] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY['TRADE'] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY['market'] ELSE '{}' END, NULL,
            array_fill(of_token, ARRAY[cardinality(held_accounts)]),
            held_accounts, held_units);
        paid := cash_post(moved_at, array_fill('TRADE'::text, ARRAY[batch])
                || array_fill('FEE'::text, ARRAY[fees]),
            paid_by || fee_payers,
            paid_to || array_fill(market.fees_account_id, ARRAY[fees]),
            ARRAY(SELECT u.units * auction.price FROM unnest(quantities)
                    WITH ORDINALITY AS u (units, place) ORDER BY u.place)
                || ARRAY(SELECT f.net + f.vat FROM unnest(fee_nets, fee_vats)
                    WITH ORDINALITY AS f (net, vat, place) ORDER BY f.place),
            actors || fee_actors, array_fill(''::text, ARRAY[batch + fees]),
            array_fill(NULL::text, ARRAY[batch + fees]),
            array_fill(NULL::bigint, ARRAY[batch + fees]),
            array_fill(NULL::bigint, ARRAY[batch + fees]),
            array_fill(NULL::uuid, ARRAY[batch + fees]), held_heads, held_cents);
        INSERT INTO trading_executionfee (token_id, sequence, side, is_refund, net, vat,
            cash_transaction)
        SELECT of_token, f.trade, f.side, FALSE, f.net, f.vat, paid[batch + f.place]
        FROM unnest(fee_trades, fee_sides, fee_nets, fee_vats) WITH ORDINALITY
            AS f (trade, side, net, vat, place);
        INSERT INTO trading_execution (token_id, sequence, buy_order_id, sell_order_id,
            buyer_account_id, seller_account_id, price, quantity, aggressor, ledger_seq,
            cash_transaction, event, at)
        SELECT of_token, auction.first_trade + auction.settled + x.place, x.buy, x.sell,
            b.account_id, s.account_id, auction.price, x.units, NULL, entry + x.place,
            x.payment, market.last_event + 2 * x.place, settled_at
        FROM unnest(buys, sells, quantities, paid[1:batch]) WITH ORDINALITY
            AS x (buy, sell, units, payment, place)
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.buy LIMIT 1) b
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.sell LIMIT 1) s;
        UPDATE trading_market SET last_event = last_event + 2 * batch,
            last_at = settled_at, last_price = auction.price
            WHERE token_id = of_token;
        UPDATE trading_auction SET settled = settled + batch
            WHERE token_id = of_token AND began = auction.began;
    END IF;
    IF NOT is_last THEN
        RETURN auction.fills - auction.settled - batch;
    END IF;
    UPDATE trading_market SET shows_book = TRUE WHERE token_id = of_token;
    SELECT array_agg(l.side ORDER BY l.side, l.price),
        array_agg(l.price ORDER BY l.side, l.price),
        array_agg(l.units ORDER BY l.side, l.price),
        array_agg(FALSE)
    INTO sides, prices, rests, ends
    FROM (
        SELECT o.side, o.limit_price AS price, sum(o.quantity - o.filled)::bigint
            AS units
        FROM trading_order o WHERE o.token_id = of_token AND o.status = 'OPEN'
        GROUP BY o.side, o.limit_price
    ) l;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
    END IF;
    SELECT array_agg(x.quantity ORDER BY x.sequence) INTO deals
    FROM trading_execution x
    WHERE x.token_id = of_token AND x.sequence > auction.first_trade;
    IF prices IS NOT NULL OR deals IS NOT NULL THEN
        PERFORM marketdata_record(of_token, head.last_sequence, coalesce(sides, '{}'),
            coalesce(prices, '{}'), coalesce(rests, '{}'), coalesce(ends, '{}'),
            CASE WHEN deals IS NULL THEN '{}'
                ELSE array_fill(auction.price, ARRAY[cardinality(deals)]) END,
            coalesce(deals, '{}'), coalesce(cardinality(prices), 0) >= 1000);
    END IF;
    IF deals IS NOT NULL THEN
        PERFORM events_write(NULL, array_agg(o.partner_id ORDER BY e.number),
            array_agg(e.kind::text ORDER BY e.number),
            array_agg(o.id ORDER BY e.number), NULL,
            array_agg(of_token ORDER BY e.number),
            array_agg(o.account_id ORDER BY e.number), NULL,
            array_agg(e.number ORDER BY e.number), array_agg(e.price ORDER BY e.number),
            array_agg(e.quantity ORDER BY e.number),
            array_agg(e.remaining ORDER BY e.number),
            array_agg(e.trade ORDER BY e.number), last => TRUE)
        FROM trading_orderevent e
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
        WHERE e.token_id = of_token AND e.number > auction.first_event
            AND e.kind = 'ORDER_TRADED';
    END IF;
    PERFORM trading_change_phase(of_token, CASE
        WHEN market.session_ends_at <= settled_at THEN 'CLOSED'
        WHEN market.model <> 'FIXING' THEN 'CONTINUOUS'
        WHEN trading_fixing(market.fixings, greatest(settled_at, auction.earliest_at),
            market.session_ends_at) IS NULL THEN 'CLOSED'
        ELSE 'CALL' END, NULL, NULL, NULL, '', 'market');
    RETURN 0;
END $$;
REVOKE ALL ON FUNCTION public.trading_settle(uuid, integer) FROM PUBLIC;

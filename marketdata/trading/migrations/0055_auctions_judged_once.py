"""Auctions judged once."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_refused_fills(of_token uuid, of_call bigint, past boolean)
RETURNS TABLE(place integer, code text) LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    auction trading_auction;
    listed issuers_ledgertransaction;
BEGIN
    SELECT * INTO auction FROM trading_auction a
        WHERE a.token_id = of_token AND a.began = of_call;
    -- Most tokens have no rule, and most of the time no holder has a restriction.
    IF NOT EXISTS (SELECT FROM issuers_tokenrule r WHERE r.token_id = of_token
            AND (r.ended_at IS NULL OR r.ended_at > auction.listed_at))
        AND NOT EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL)
        AND NOT EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ended_at > auction.listed_at) THEN
        RETURN;
    END IF;
    SELECT * INTO listed FROM issuers_ledgertransaction t
        WHERE t.token_id = of_token AND t.seq = auction.listed_entry;
    RETURN QUERY
    SELECT f.place, j.code
    FROM (
        SELECT m.*, listed.holders_after + sum(m.holders) OVER (ORDER BY m.place)
            AS holders_after
        FROM (
            SELECT l.place, l.quantity,
                min(l.account) FILTER (WHERE l.delta < 0) AS seller,
                min(l.account) FILTER (WHERE l.delta > 0) AS buyer,
                min(l.after - l.delta) FILTER (WHERE l.delta < 0) AS given,
                min(l.after - l.delta) FILTER (WHERE l.delta > 0) AS taken,
                sum((l.after > 0)::integer - (l.after - l.delta > 0)::integer)
                    AS holders
            FROM (
                SELECT f.place, f.quantity, l.account, l.delta,
                    coalesce(p.balance_after, 0) + sum(l.delta) OVER (
                        PARTITION BY l.account ORDER BY f.place) AS after
                FROM trading_auctionfill f
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_order x WHERE x.id = f.buy_order_id LIMIT 1) b
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_order x WHERE x.id = f.sell_order_id LIMIT 1) s
                CROSS JOIN LATERAL (VALUES (s.ledger_account_id, -f.quantity),
                    (b.ledger_account_id, f.quantity)) AS l (account, delta)
                LEFT JOIN LATERAL (
                    SELECT x.balance_after FROM issuers_ledgerposting x
                    WHERE x.token_id = of_token AND x.account_id = l.account
                        AND x.seq <= auction.listed_entry
                    ORDER BY x.seq DESC LIMIT 1
                ) p ON TRUE
                WHERE f.token_id = of_token AND f.began = of_call
            ) l
            GROUP BY l.place, l.quantity
        ) m
    ) f
    CROSS JOIN LATERAL (
        SELECT x.code FROM register_judge(of_token, 'TRADE', f.seller, f.buyer,
            f.quantity, auction.listed_at, past, f.given, 0, f.taken,
            listed.supply_after, (f.holders_after - f.holders)::bigint,
            f.holders_after::bigint) x LIMIT 1
    ) j
    ORDER BY f.place;
END $$;
REVOKE ALL ON FUNCTION public.trading_refused_fills(uuid, bigint, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_settle(of_token uuid, most integer)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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

CREATE OR REPLACE FUNCTION public.trading_uncross(of_token uuid, at_price bigint, buys uuid[], sells uuid[], quantities bigint[])
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = 'force_custom_plan'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    auction trading_auction;
    traded numeric;
    most numeric;
    wrong uuid;
    entry bigint;
    refused text;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    SELECT * INTO auction FROM trading_auction
        WHERE token_id = of_token AND began = market.last_phase_event;
    IF (market.phase = 'CALL' AND auction.fills IS NULL
        AND auction.ends_at <= clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A call ends once, at the second that was drawn: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (cardinality(buys) <= 50000 AND cardinality(buys) = cardinality(sells)
        AND cardinality(buys) = cardinality(quantities)
        AND (at_price IS NULL) = (cardinality(buys) = 0)
        AND (at_price % coalesce(auction.tick_steps[width_bucket(at_price,
            auction.tick_floors)], auction.tick_cents) = 0) IS NOT FALSE) IS NOT TRUE
        THEN
        RAISE EXCEPTION 'An auction has a price, a multiple of the tick, and 50,000 '
            'fills at most, or neither.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT h.last_seq INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token FOR UPDATE;
    PERFORM FROM issuers_ledgeraccount a
        WHERE a.id IN (SELECT o.ledger_account_id FROM trading_order o
            WHERE o.id = ANY (buys || sells)) ORDER BY a.id FOR SHARE;
    SELECT coalesce(sum(f.quantity), 0) INTO traded
    FROM unnest(quantities) AS f (quantity);
    WITH levels AS (
        SELECT o.limit_price AS price,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 0), 0) AS bid,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 1), 0)
                AS offered
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
        GROUP BY o.limit_price
    )
    SELECT coalesce(max(least(s.bid, s.offered)), 0) INTO most
    FROM (
        SELECT sum(l.bid) OVER (ORDER BY l.price DESC) AS bid,
            sum(l.offered) OVER (ORDER BY l.price) AS offered
        FROM levels l
    ) s;
    IF most <> traded THEN
        RAISE EXCEPTION 'An auction trades most units: %, and not %.', most, traded
            USING ERRCODE = 'restrict_violation';
    END IF;
    WITH filled AS MATERIALIZED (
        SELECT s.id, s.side, sum(f.quantity) AS units
        FROM unnest(buys, sells, quantities) AS f (buy, sell, quantity)
        CROSS JOIN LATERAL (VALUES (f.buy, 0), (f.sell, 1)) AS s (id, side)
        GROUP BY s.id, s.side
    ), due AS (
        SELECT o.id, o.side, o.user_id, greatest(least(o.quantity - o.filled,
            traded - coalesce(sum(o.quantity - o.filled) OVER (PARTITION BY o.side
                ORDER BY CASE o.side WHEN 0 THEN -o.limit_price ELSE o.limit_price END,
                    o.priority
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)), 0) AS units
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
            AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                ELSE o.limit_price <= at_price END
    )
    SELECT coalesce(d.id, f.id) INTO wrong
    FROM (SELECT * FROM due WHERE due.units > 0) d
    FULL JOIN filled f ON f.id = d.id AND f.side = d.side
    WHERE (f.units = d.units) IS NOT TRUE
    UNION ALL
    SELECT min(d.id::text)::uuid FROM due d WHERE d.units > 0
    GROUP BY d.user_id HAVING count(DISTINCT d.side) > 1
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'In an auction better limits trade first, then older orders, '
            'within their limits and of a user on one side: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_auctionfill (token_id, began, place, buy_order_id,
        sell_order_id, quantity)
    SELECT of_token, auction.began, f.place, f.buy, f.sell, f.quantity
    FROM unnest(buys, sells, quantities) WITH ORDINALITY
        AS f (buy, sell, quantity, place);
    UPDATE trading_auction a SET price = at_price, quantity = traded,
        surplus = (
            SELECT sum(CASE o.side WHEN 0 THEN o.quantity - o.filled
                ELSE o.filled - o.quantity END)
            FROM trading_order o
            WHERE o.token_id = of_token AND o.status = 'OPEN'
                AND o.expires_at >= auction.ends_at
                AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                    ELSE o.limit_price <= at_price END),
        fills = cardinality(buys), first_event = market.last_event,
        first_trade = (SELECT h.last_trade FROM marketdata_orderbookhead h
            WHERE h.token_id = of_token),
        listed_at = clock_timestamp(), listed_entry = entry
    WHERE a.token_id = of_token AND a.began = auction.began;
    SELECT format('fill %s: %s', f.place, f.code) INTO refused
    FROM trading_refused_fills(of_token, auction.began, FALSE) f LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A rule of the token, or a restriction of a holder, forbids '
            '% of the auction.', refused USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN cardinality(buys);
END $$;
REVOKE ALL ON FUNCTION public.trading_uncross(uuid, bigint, uuid[], uuid[], bigint[]) FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_settle(of_token uuid, most integer)
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
        PERFORM FROM register_post(moved_at,
            array_fill(of_token, ARRAY[batch]), array_fill('TRADE'::text, ARRAY[batch]),
            sellers, buyers, quantities::numeric[], array_fill(''::text, ARRAY[batch]),
            actors, array_fill(NULL::uuid, ARRAY[batch]),
            array_fill(NULL::bigint, ARRAY[batch]),
            CASE WHEN is_last THEN ARRAY[of_token] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY[auction.price] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY['TRADE'] ELSE '{}' END,
            CASE WHEN is_last THEN ARRAY['market'] ELSE '{}' END,
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

CREATE OR REPLACE FUNCTION public.trading_uncross(of_token uuid, at_price bigint, buys uuid[], sells uuid[], quantities bigint[])
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET plan_cache_mode = 'force_custom_plan'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    auction trading_auction;
    traded numeric;
    most numeric;
    wrong uuid;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    SELECT * INTO auction FROM trading_auction
        WHERE token_id = of_token AND began = market.last_phase_event;
    IF (market.phase = 'CALL' AND auction.fills IS NULL
        AND auction.ends_at <= clock_timestamp()) IS NOT TRUE THEN
        RAISE EXCEPTION 'A call ends once, at the second that was drawn: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (cardinality(buys) <= 50000 AND cardinality(buys) = cardinality(sells)
        AND cardinality(buys) = cardinality(quantities)
        AND (at_price IS NULL) = (cardinality(buys) = 0)
        AND (at_price % coalesce(auction.tick_steps[width_bucket(at_price,
            auction.tick_floors)], auction.tick_cents) = 0) IS NOT FALSE) IS NOT TRUE
        THEN
        RAISE EXCEPTION 'An auction has a price, a multiple of the tick, and 50,000 '
            'fills at most, or neither.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT coalesce(sum(f.quantity), 0) INTO traded
    FROM unnest(quantities) AS f (quantity);
    WITH levels AS (
        SELECT o.limit_price AS price,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 0), 0) AS bid,
            coalesce(sum(o.quantity - o.filled) FILTER (WHERE o.side = 1), 0)
                AS offered
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
        GROUP BY o.limit_price
    )
    SELECT coalesce(max(least(s.bid, s.offered)), 0) INTO most
    FROM (
        SELECT sum(l.bid) OVER (ORDER BY l.price DESC) AS bid,
            sum(l.offered) OVER (ORDER BY l.price) AS offered
        FROM levels l
    ) s;
    IF most <> traded THEN
        RAISE EXCEPTION 'An auction trades most units: %, and not %.', most, traded
            USING ERRCODE = 'restrict_violation';
    END IF;
    WITH filled AS MATERIALIZED (
        SELECT s.id, s.side, sum(f.quantity) AS units
        FROM unnest(buys, sells, quantities) AS f (buy, sell, quantity)
        CROSS JOIN LATERAL (VALUES (f.buy, 0), (f.sell, 1)) AS s (id, side)
        GROUP BY s.id, s.side
    ), due AS (
        SELECT o.id, o.side, o.user_id, greatest(least(o.quantity - o.filled,
            traded - coalesce(sum(o.quantity - o.filled) OVER (PARTITION BY o.side
                ORDER BY CASE o.side WHEN 0 THEN -o.limit_price ELSE o.limit_price END,
                    o.priority
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)), 0) AS units
        FROM trading_order o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
            AND o.expires_at >= auction.ends_at
            AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                ELSE o.limit_price <= at_price END
    )
    SELECT coalesce(d.id, f.id) INTO wrong
    FROM (SELECT * FROM due WHERE due.units > 0) d
    FULL JOIN filled f ON f.id = d.id AND f.side = d.side
    WHERE (f.units = d.units) IS NOT TRUE
    UNION ALL
    SELECT min(d.id::text)::uuid FROM due d WHERE d.units > 0
    GROUP BY d.user_id HAVING count(DISTINCT d.side) > 1
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'In an auction better limits trade first, then older orders, '
            'within their limits and of a user on one side: %.', wrong
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_auctionfill (token_id, began, place, buy_order_id,
        sell_order_id, quantity)
    SELECT of_token, auction.began, f.place, f.buy, f.sell, f.quantity
    FROM unnest(buys, sells, quantities) WITH ORDINALITY
        AS f (buy, sell, quantity, place);
    UPDATE trading_auction a SET price = at_price, quantity = traded,
        surplus = (
            SELECT sum(CASE o.side WHEN 0 THEN o.quantity - o.filled
                ELSE o.filled - o.quantity END)
            FROM trading_order o
            WHERE o.token_id = of_token AND o.status = 'OPEN'
                AND o.expires_at >= auction.ends_at
                AND CASE o.side WHEN 0 THEN o.limit_price >= at_price
                    ELSE o.limit_price <= at_price END),
        fills = cardinality(buys), first_event = market.last_event,
        first_trade = (SELECT h.last_trade FROM marketdata_orderbookhead h
            WHERE h.token_id = of_token)
    WHERE a.token_id = of_token AND a.began = auction.began;
    RETURN cardinality(buys);
END $$;
REVOKE ALL ON FUNCTION public.trading_uncross(uuid, bigint, uuid[], uuid[], bigint[]) FROM PUBLIC;

DROP FUNCTION public.trading_refused_fills(uuid, bigint, boolean);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0054_listed_auctions"),
        ("issuers", "0112_auctions_judged_once"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

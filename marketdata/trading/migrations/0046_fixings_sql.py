"""Fixings sql."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_call(of_token uuid, called_at timestamp with time zone, announced timestamp with time zone, session_ends timestamp with time zone, reference bigint, lowest bigint, highest bigint, why text, called_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    drawn integer := ('x' || left(md5(gen_random_uuid()::text), 7))::bit(28)::integer
        % 60001;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    traded_price bigint;
    traded_quantity bigint;
BEGIN
    UPDATE trading_market SET phase = 'CALL', phase_since = called_at,
        next_phase = CASE
            WHEN announced >= session_ends THEN 'CLOSED'
            WHEN model <> 'FIXING' THEN 'CONTINUOUS'
            WHEN trading_fixing(fixings, announced, session_ends) IS NULL THEN 'CLOSED'
            ELSE 'CALL' END,
        next_phase_at = least(announced, session_ends), session_ends_at = session_ends,
        reference_price = reference, halt_reason = '', shows_book = FALSE,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = called_at
        WHERE token_id = of_token RETURNING * INTO market;
    -- Of the auction that has just settled, if one call follows another.
    UPDATE trading_auction a SET ended = market.last_event
        WHERE a.token_id = of_token AND a.ended IS NULL
        RETURNING a.price, a.quantity INTO traded_price, traded_quantity;
    INSERT INTO trading_auction (token_id, began, reference_price, tick_cents,
        tick_floors, tick_steps, earliest_at, ends_at, lowest, highest)
    VALUES (of_token, market.last_event, reference, market.tick_cents,
        market.tick_floors, market.tick_steps, market.next_phase_at, least(announced + make_interval(secs => drawn / 1000.0),
            session_ends), lowest, highest);
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (of_token, market.last_event, 'PHASE_CHANGED', reference, 'CALL', why,
        called_by, called_at);
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = of_token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(of_token, (SELECT h.last_sequence
                FROM marketdata_orderbookhead h WHERE h.token_id = of_token),
            sides, prices, empty, ends, '{}', '{}', cardinality(prices) >= 1000);
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL,
        order_events => ARRAY[market.last_event], prices => ARRAY[traded_price],
        quantities => ARRAY[traded_quantity], reasons => ARRAY['CALL']);
END $$;
REVOKE ALL ON FUNCTION public.trading_call(uuid, timestamp with time zone, timestamp with time zone, timestamp with time zone, bigint, bigint, bigint, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    changed_at timestamptz;
    opens_at timestamptz;
    closes_at timestamptz;
    refers_to bigint;
    used uuid;
    opens_now boolean;
    first_opening timestamptz;
    auction trading_auction;
    fixing timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CALL', 'CONTINUOUS', 'HALTED')
            WHEN 'CALL' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CALL', 'CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED') END, FALSE)
        THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        used := approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    SELECT * INTO auction FROM trading_auction a
        WHERE a.token_id = token AND market.phase = 'CALL'
            AND a.began = market.last_phase_event;
    IF market.phase = 'CALL' AND (CASE wanted
            WHEN 'HALTED' THEN auction.fills IS NOT NULL
            ELSE changed_by <> 'market' END) THEN
        RAISE EXCEPTION 'A call ends by its auction, and is not halted once that has '
            'begun.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF changed_by = 'market' THEN
        IF (CASE market.phase WHEN 'CALL' THEN auction.settled = auction.fills
            ELSE market.next_phase = wanted AND market.next_phase_at <= changed_at END)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    market := trading_apply_parameters(token, changed_at);
    IF wanted = 'CONTINUOUS' AND market.model = 'FIXING' THEN
        -- It opens by other parameters than when its next phase was determined.
        wanted := 'CALL';
    END IF;
    SELECT p.opens_at INTO first_opening
    FROM (SELECT * FROM trading_marketparameters x
        WHERE x.token_id = token AND x.valid_from <= changed_at
        ORDER BY x.valid_from DESC, x.id DESC LIMIT 1) p
    WHERE p.valid_from > coalesce((
        SELECT e.at FROM trading_orderevent e
        WHERE e.token_id = token AND e.order_id IS NULL
            AND e.phase IN ('CALL', 'CONTINUOUS')
        ORDER BY e.number DESC LIMIT 1), '-infinity');
    refers_to := trading_reference(token);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT s.opens_at, s.closes_at,
            s.is_open AND (wanted IN ('CALL', 'CONTINUOUS') OR changed_by = 'market')
        INTO opens_at, closes_at, opens_now
        FROM trading_session(market.session_opens, market.session_closes,
            market.weekdays_only, market.holidays, changed_at) s;
        IF first_opening > changed_at THEN
            opens_at := first_opening;
        ELSIF opens_now THEN
            opens_at := changed_at;
        END IF;
        IF wanted IN ('CALL', 'CONTINUOUS') AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is % in its session, which begins at %.', wanted,
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        -- One of the model's; staff and interruptions begin calls of their own.
        fixing := trading_fixing(market.fixings, changed_at, closes_at);
        IF wanted = 'CALL' THEN
            PERFORM trading_call(token, changed_at, CASE
                WHEN market.model = 'FIXING' OR market.model = 'BOTH'
                    AND changed_by = 'market'
                THEN coalesce(fixing, changed_at + interval '270 s')
                ELSE changed_at + interval '270 s' END, closes_at, refers_to, NULL, NULL, why, changed_by);
            IF first_opening IS NOT NULL THEN
                PERFORM trading_end_off(token, changed_at);
            END IF;
            RETURN;
        ELSIF wanted = 'CONTINUOUS' THEN
            -- The call of a fixing begins five minutes before it.
            follows_at := trading_fixing(market.fixings, changed_at + interval '5 min',
                closes_at) - interval '5 min';
            follows := CASE WHEN follows_at IS NULL THEN 'CLOSED' ELSE 'CALL' END;
            follows_at := coalesce(follows_at, closes_at);
        ELSE
            -- Orders that may cross trade at an auction first. After the last fixing of a
            -- session the next one opens.
            follows := CASE WHEN market.shows_book AND market.model <> 'FIXING'
                THEN 'CONTINUOUS' ELSE 'CALL' END;
            IF opens_now AND market.model = 'FIXING' AND fixing IS NULL THEN
                SELECT s.opens_at INTO opens_at
                FROM trading_session(market.session_opens, market.session_closes,
                    market.weekdays_only, market.holidays, closes_at) s;
            END IF;
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        session_ends_at = CASE wanted WHEN 'CONTINUOUS' THEN closes_at END,
        last_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to ELSE last_price END,
        reference_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    UPDATE trading_auction a SET ended = market.last_event
        WHERE a.token_id = token AND a.began = auction.began;
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], prices => ARRAY[auction.price],
        quantities => ARRAY[auction.quantity], reasons => ARRAY[wanted]);
    IF wanted = 'CONTINUOUS' AND first_opening IS NOT NULL THEN
        PERFORM trading_end_off(token, changed_at);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_fixing(fixings time without time zone[], after timestamp with time zone, until timestamp with time zone)
RETURNS timestamp with time zone LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT min(f.at)
    FROM generate_series(0, (until AT TIME ZONE market_time_zone())::date
        - (after AT TIME ZONE market_time_zone())::date) AS n
    CROSS JOIN unnest(fixings) AS t (fixing)
    CROSS JOIN LATERAL (SELECT ((after AT TIME ZONE market_time_zone())::date + n
        + t.fixing) AT TIME ZONE market_time_zone() AS at) f
    WHERE f.at > after AND f.at <= until
$$;
REVOKE ALL ON FUNCTION public.trading_fixing(time without time zone[], timestamp with time zone, timestamp with time zone) FROM PUBLIC;

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
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_call(of_token uuid, called_at timestamp with time zone, announced timestamp with time zone, session_ends timestamp with time zone, reference bigint, lowest bigint, highest bigint, why text, called_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    drawn integer := ('x' || left(md5(gen_random_uuid()::text), 7))::bit(28)::integer
        % 60001;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
BEGIN
    UPDATE trading_market SET phase = 'CALL', phase_since = called_at,
        next_phase = CASE WHEN announced < session_ends THEN 'CONTINUOUS'
            ELSE 'CLOSED' END,
        next_phase_at = least(announced, session_ends), session_ends_at = session_ends,
        reference_price = reference, halt_reason = '', shows_book = FALSE,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = called_at
        WHERE token_id = of_token RETURNING * INTO market;
    INSERT INTO trading_auction (token_id, began, reference_price, tick_cents,
        tick_floors, tick_steps, earliest_at, ends_at, lowest, highest)
    VALUES (of_token, market.last_event, reference, market.tick_cents,
        market.tick_floors, market.tick_steps, market.next_phase_at, least(announced + make_interval(secs => drawn / 1000.0),
            session_ends), lowest, highest);
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (of_token, market.last_event, 'PHASE_CHANGED', reference, 'CALL', why,
        called_by, called_at);
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = of_token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(of_token, (SELECT h.last_sequence
                FROM marketdata_orderbookhead h WHERE h.token_id = of_token),
            sides, prices, empty, ends, '{}', '{}', cardinality(prices) >= 1000);
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL,
        order_events => ARRAY[market.last_event], reasons => ARRAY['CALL']);
END $$;
REVOKE ALL ON FUNCTION public.trading_call(uuid, timestamp with time zone, timestamp with time zone, timestamp with time zone, bigint, bigint, bigint, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_change_phase(token uuid, wanted text, follows text, follows_at timestamp with time zone, reference bigint, why text, changed_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    market trading_market;
    changed_at timestamptz;
    opens_at timestamptz;
    closes_at timestamptz;
    refers_to bigint;
    used uuid;
    opens_now boolean;
    first_opening timestamptz;
    auction trading_auction;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CALL', 'CONTINUOUS', 'HALTED')
            WHEN 'CALL' THEN wanted IN ('CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CALL', 'CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED') END, FALSE)
        THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF market.phase = 'HALTED' THEN
        used := approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    SELECT * INTO auction FROM trading_auction a
        WHERE a.token_id = token AND market.phase = 'CALL'
            AND a.began = market.last_phase_event;
    IF market.phase = 'CALL' AND (CASE wanted
            WHEN 'HALTED' THEN auction.fills IS NOT NULL
            ELSE changed_by <> 'market' END) THEN
        RAISE EXCEPTION 'A call ends by its auction, and is not halted once that has '
            'begun.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF changed_by = 'market' THEN
        IF (CASE market.phase WHEN 'CALL' THEN auction.settled = auction.fills
            ELSE market.next_phase = wanted AND market.next_phase_at <= changed_at END)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    market := trading_apply_parameters(token, changed_at);
    SELECT p.opens_at INTO first_opening
    FROM (SELECT * FROM trading_marketparameters x
        WHERE x.token_id = token AND x.valid_from <= changed_at
        ORDER BY x.valid_from DESC, x.id DESC LIMIT 1) p
    WHERE p.valid_from > coalesce((
        SELECT e.at FROM trading_orderevent e
        WHERE e.token_id = token AND e.order_id IS NULL
            AND e.phase IN ('CALL', 'CONTINUOUS')
        ORDER BY e.number DESC LIMIT 1), '-infinity');
    refers_to := trading_reference(token);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT s.opens_at, s.closes_at,
            s.is_open AND (wanted IN ('CALL', 'CONTINUOUS') OR changed_by = 'market')
        INTO opens_at, closes_at, opens_now
        FROM trading_session(market.session_opens, market.session_closes,
            market.weekdays_only, market.holidays, changed_at) s;
        IF first_opening > changed_at THEN
            opens_at := first_opening;
        ELSIF opens_now THEN
            opens_at := changed_at;
        END IF;
        IF wanted IN ('CALL', 'CONTINUOUS') AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is % in its session, which begins at %.', wanted,
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        IF wanted = 'CALL' THEN
            PERFORM trading_call(token, changed_at, changed_at + interval '270 s',
                closes_at, refers_to, NULL, NULL, why, changed_by);
            IF first_opening IS NOT NULL THEN
                PERFORM trading_end_off(token, changed_at);
            END IF;
            RETURN;
        ELSIF wanted = 'CONTINUOUS' THEN
            follows := 'CLOSED';
            follows_at := closes_at;
        ELSE
            -- Orders that may cross trade at an auction first.
            follows := CASE WHEN market.shows_book THEN 'CONTINUOUS' ELSE 'CALL' END;
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        session_ends_at = CASE wanted WHEN 'CONTINUOUS' THEN follows_at END,
        last_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to ELSE last_price END,
        reference_price = CASE wanted WHEN 'CONTINUOUS' THEN refers_to
            ELSE reference_price END,
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    UPDATE trading_auction a SET ended = market.last_event
        WHERE a.token_id = token AND a.began = auction.began;
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], prices => ARRAY[auction.price],
        quantities => ARRAY[auction.quantity], reasons => ARRAY[wanted]);
    IF wanted = 'CONTINUOUS' AND first_opening IS NOT NULL THEN
        PERFORM trading_end_off(token, changed_at);
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;

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
    PERFORM trading_change_phase(of_token, CASE WHEN market.session_ends_at > settled_at
        THEN 'CONTINUOUS' ELSE 'CLOSED' END, NULL, NULL, NULL, '', 'market');
    RETURN 0;
END $$;
REVOKE ALL ON FUNCTION public.trading_settle(uuid, integer) FROM PUBLIC;

DROP FUNCTION public.trading_fixing(time without time zone[], timestamp with time zone, timestamp with time zone);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0045_self_trades_by_user"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

"""Fees, blocks, limits, parameters, auctions and trading at last, in functions."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_announce(of_token uuid)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    following trading_marketparameters;
    moment timestamptz;
    reference bigint;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO following FROM trading_marketparameters p
        WHERE p.token_id = of_token ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
    moment := clock_timestamp();
    IF (moment >= least(following.valid_from, following.opens_at - interval '12 hours')
            AND following.announced_at IS NULL) IS NOT TRUE THEN
        RETURN;
    END IF;
    UPDATE trading_marketparameters p SET announced_at = moment
        WHERE p.token_id = of_token AND p.announced_at IS NULL;
    reference := trading_reference(of_token);
    PERFORM events_write(NULL, array_agg(o.partner_id),
        array_agg('ORDER_ENDS_AT_OPENING'::text), array_agg(o.id), NULL,
        array_agg(o.token_id), array_agg(o.account_id), NULL, NULL,
        array_agg(o.limit_price), array_agg(o.quantity),
        array_agg(o.quantity - o.filled), NULL, array_agg('PARAMETERS_CHANGED'::text))
    FROM (SELECT * FROM trading_order x
        WHERE x.token_id = of_token AND x.status = 'OPEN' AND trading_is_off(
            x.limit_price, x.quantity - x.filled, following.tick_cents,
            following.tick_floors, following.tick_steps, following.lot_units,
            following.collar_bps, reference)
        ORDER BY x.priority) o
    HAVING count(*) > 0;
END $$;
REVOKE ALL ON FUNCTION public.trading_announce(uuid) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_apply_parameters(of_token uuid, at timestamp with time zone)
RETURNS trading_market LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    market trading_market;
BEGIN
    UPDATE trading_market m SET session_opens = p.session_opens,
        session_closes = p.session_closes, weekdays_only = p.weekdays_only,
        holidays = p.holidays, tick_cents = p.tick_cents, tick_floors = p.tick_floors,
        tick_steps = p.tick_steps, lot_units = p.lot_units, collar_bps = p.collar_bps,
        dynamic_band_bps = p.dynamic_band_bps, model = p.model, fixings = p.fixings,
        at_last_minutes = p.at_last_minutes, most_value = p.most_value,
        most_units = p.most_units
    FROM (SELECT * FROM trading_marketparameters x
        WHERE x.token_id = of_token AND x.valid_from <= at
        ORDER BY x.valid_from DESC, x.id DESC LIMIT 1) p
    WHERE m.token_id = of_token
    RETURNING m.* INTO market;
    RETURN market;
END $$;
REVOKE ALL ON FUNCTION public.trading_apply_parameters(uuid, timestamp with time zone) FROM PUBLIC;

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
    coming trading_marketparameters;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CALL', 'CONTINUOUS', 'HALTED')
            WHEN 'CALL' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'AT_LAST' THEN wanted IN ('CALL', 'CONTINUOUS', 'CLOSED', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CALL', 'CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CALL', 'CLOSED') END, FALSE)
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
            ELSE market.next_phase_at <= changed_at AND (market.next_phase = wanted
                OR wanted = 'CLOSED' AND market.session_ends_at <= changed_at) END)
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
    IF wanted = 'CONTINUOUS' AND (market.model = 'FIXING' OR market.phase = 'CLOSED'
            AND trading_opening(token, market.model) = 'CALL') THEN
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
        IF auction.price IS NOT NULL AND (market.model = 'FIXING'
                OR auction.lowest IS NULL AND EXISTS (
                    SELECT FROM trading_orderevent e WHERE e.token_id = token
                        AND e.number = auction.began AND e.actor = 'market')) THEN
            follows_at := least(
                changed_at + make_interval(mins => market.at_last_minutes),
                market.session_ends_at, fixing - interval '5 min');
            IF follows_at > changed_at THEN
                follows := CASE follows_at WHEN market.session_ends_at THEN 'CLOSED'
                    WHEN fixing - interval '5 min' THEN 'CALL' ELSE wanted END;
                wanted := 'AT_LAST';
            END IF;
        END IF;
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
            -- The call of a fixing begins five minutes before it, or now if it is later.
            follows_at := greatest(fixing - interval '5 min',
                CASE WHEN fixing IS NOT NULL THEN changed_at END);
            follows := CASE WHEN follows_at IS NULL THEN 'CLOSED' ELSE 'CALL' END;
            follows_at := coalesce(follows_at, closes_at);
        ELSIF wanted = 'CLOSED' THEN
            -- After the last fixing of a session the next one opens.
            IF opens_now AND market.model = 'FIXING' AND fixing IS NULL THEN
                SELECT s.opens_at INTO opens_at
                FROM trading_session(market.session_opens, market.session_closes,
                    market.weekdays_only, market.holidays, closes_at) s;
            END IF;
            -- Parameters that hold by then determine when it opens, and how.
            SELECT * INTO coming FROM trading_marketparameters p
                WHERE p.token_id = token AND p.valid_from > changed_at
                    AND p.valid_from <= opens_at
                ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
            IF FOUND THEN
                market := trading_apply_parameters(token, coming.valid_from);
                opens_at := coming.opens_at;
            END IF;
            follows := trading_opening(token, market.model);
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        session_ends_at = CASE wanted WHEN 'CONTINUOUS' THEN closes_at
            WHEN 'AT_LAST' THEN session_ends_at END,
        last_price = CASE WHEN wanted IN ('AT_LAST', 'CONTINUOUS') THEN refers_to
            ELSE last_price END,
        reference_price = CASE WHEN wanted IN ('AT_LAST', 'CONTINUOUS') THEN refers_to
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

CREATE OR REPLACE FUNCTION public.trading_end_off(of_token uuid, at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    off uuid[];
BEGIN
    LOOP
        SELECT array_agg(x.id ORDER BY x.priority) INTO off
        FROM (
            SELECT o.id, o.priority FROM trading_order o
            JOIN trading_market m ON m.token_id = o.token_id
            WHERE o.token_id = of_token AND o.status = 'OPEN' AND trading_is_off(
                o.limit_price, o.quantity - o.filled, m.tick_cents, m.tick_floors,
                m.tick_steps, m.lot_units, m.collar_bps, m.reference_price)
            LIMIT 5000
        ) x;
        EXIT WHEN off IS NULL;
        PERFORM trading_write(of_token, at,
            array_fill('ORDER_CANCELLED'::text, ARRAY[cardinality(off)]), off,
            ARRAY(SELECT n::integer FROM generate_series(1, cardinality(off)) AS n),
            array_fill(NULL::bigint, ARRAY[cardinality(off)]),
            array_fill(NULL::bigint, ARRAY[cardinality(off)]),
            array_fill('PARAMETERS_CHANGED'::text, ARRAY[cardinality(off)]),
            array_fill('market'::text, ARRAY[cardinality(off)]), FALSE,
            '{}', '{}', '{}', '{}', '{}', '{}');
    END LOOP;
END $$;
REVOKE ALL ON FUNCTION public.trading_end_off(uuid, timestamp with time zone) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_fee_net(total numeric, vat integer)
RETURNS numeric LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    RETURN div(20000 * total + 10000 + vat, 20000 + 2 * vat);
END $$;
REVOKE ALL ON FUNCTION public.trading_fee_net(numeric, integer) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_fire(of_partner uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    UPDATE trading_canceltimer t SET fired_at = clock_timestamp(),
        fires_at = CASE WHEN EXISTS (
            SELECT FROM trading_auction a WHERE a.ended IS NULL AND a.fills IS NOT NULL
                AND EXISTS (SELECT FROM trading_order o WHERE o.partner_id = of_partner
                    AND o.token_id = a.token_id AND o.status = 'OPEN'))
            THEN t.fires_at END
    WHERE t.partner_id = of_partner AND t.fires_at <= clock_timestamp();
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.trading_fire(uuid) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_indicate(of_token uuid, of_call bigint, price bigint, quantity bigint, surplus bigint, of_event bigint)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_variable
DECLARE
    is_new boolean;
BEGIN
    PERFORM accounts_read_committed();
    SELECT (a.indicative_price, a.indicative_quantity, a.indicative_surplus)
        IS DISTINCT FROM (price, quantity, surplus)
    INTO is_new FROM trading_auction a
    WHERE a.token_id = of_token AND a.began = of_call;
    UPDATE trading_auction a SET indicative_price = price,
        indicative_quantity = quantity, indicative_surplus = surplus,
        indicated_event = of_event
    WHERE a.token_id = of_token AND a.began = of_call AND a.fills IS NULL
        AND a.ended IS NULL;
    IF NOT FOUND OR NOT is_new THEN
        RETURN FALSE;
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['AUCTION_INDICATED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL, prices => ARRAY[price],
        quantities => ARRAY[quantity], remainings => ARRAY[surplus]);
    RETURN TRUE;
END $$;
REVOKE ALL ON FUNCTION public.trading_indicate(uuid, bigint, bigint, bigint, bigint, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_interrupt(of_token uuid, since_event bigint, base_price bigint, judged_at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
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
REVOKE ALL ON FUNCTION public.trading_interrupt(uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_is_off(price bigint, units bigint, tick bigint, floors bigint[], steps bigint[], lot bigint, collar integer, reference bigint)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT price % coalesce(steps[width_bucket(price, floors)], tick) <> 0
        OR units % lot <> 0
        OR coalesce(abs(price - reference) > reference * collar / 10000, FALSE)
$$;
REVOKE ALL ON FUNCTION public.trading_is_off(bigint, bigint, bigint, bigint[], bigint[], bigint, integer, bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_issue_document(said bytea, shown bytea)
RETURNS SETOF trading_issueddocument LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    facts jsonb := convert_from(said, 'UTF8')::jsonb;
    of_kind text := facts ->> 'kind';
    of_partner uuid := split_part(facts ->> 'partnerID', '|', 2)::uuid;
    of_account uuid := split_part(facts ->> 'accountID', '|', 2)::uuid;
    first_day date := (facts ->> 'begins')::date;
    last_day date := (facts ->> 'ends')::date;
    length text := CASE of_kind WHEN 'CONTRACT_NOTE' THEN 'day'
        WHEN 'STATEMENT' THEN 'quarter' WHEN 'INVOICE' THEN 'month' END;
    next_day date;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM pg_advisory_xact_lock(hashtextextended('documents', 0));
    RETURN QUERY SELECT * FROM trading_issueddocument d
        WHERE d.kind = of_kind AND d.partner_id = of_partner AND d.begins = first_day
            AND d.account_id IS NOT DISTINCT FROM of_account;
    IF FOUND THEN
        RETURN;
    END IF;
    next_day := date_trunc(length, first_day::timestamp)
        + CASE length WHEN 'quarter' THEN '3 months' ELSE '1 ' || length END::interval;
    IF (first_day = date_trunc(length, first_day::timestamp) AND last_day = next_day - 1
            AND next_day::timestamp AT TIME ZONE market_time_zone()
                + interval '10 minutes' <= clock_timestamp()
            AND (of_account IS NULL OR EXISTS (SELECT FROM accounts_account a
                WHERE a.id = of_account AND a.partner_id = of_partner))
            AND (facts ->> 'number')::bigint = 1 + (
                SELECT coalesce(max(d.number), 0) FROM trading_issueddocument d
                WHERE d.kind = of_kind)) IS NOT TRUE THEN
        RAISE EXCEPTION 'A document is of a period that is over, of its own partner and '
            'with the next number: % % from % to %.', of_kind, facts ->> 'number',
            first_day, last_day USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN QUERY INSERT INTO trading_issueddocument (id, kind, number, partner_id,
        account_id, begins, ends, fee_net, fee_vat, content, content_digest, pdf,
        pdf_digest, issued_at)
    VALUES (split_part(facts ->> 'id', '|', 2)::uuid, of_kind, (facts ->> 'number')::bigint, of_partner,
        of_account, first_day, last_day, (facts #>> '{fees,net}')::bigint,
        (facts #>> '{fees,vat}')::bigint, said, sha256(said), shown, sha256(shown),
        clock_timestamp())
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.trading_issue_document(bytea, bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_book(of_token uuid, sides smallint[], prices bigint[], since_trade bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, side %s, %s cents', of_token, c.side, c.price) INTO wrong
    FROM (SELECT DISTINCT c.side, c.price FROM unnest(sides, prices) AS c (side, price)) c
    JOIN trading_market m ON m.token_id = of_token
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = of_token AND o.side = c.side AND o.limit_price = c.price
            AND o.status = 'OPEN' AND m.shows_book
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = of_token
            AND b.side = c.side AND b.price_cents = c.price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; nothing else feeds an internal '
            'market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('trade %s of token %s', t.sequence, of_token) INTO wrong
    FROM marketdata_trade t
    LEFT JOIN trading_execution x
        ON x.token_id = of_token AND x.sequence = t.sequence
    WHERE t.token_id = of_token AND t.sequence > since_trade
        AND (x.price = t.price_cents AND x.quantity = t.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of an internal market holds its executions and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_book(uuid, smallint[], bigint[], bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_endings(of_token uuid, since_event bigint, judged_at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
    is_call boolean := (SELECT m.phase = 'CALL' FROM trading_market m
        WHERE m.token_id = of_token);
BEGIN
    SELECT format('%s of order %s', e.reason, o.id) INTO wrong
    FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
    CROSS JOIN LATERAL (
        SELECT x.login FROM accounts_partner x WHERE x.id = o.partner_id LIMIT 1) p
    LEFT JOIN LATERAL (
        -- The order that it met: of those that came, the next one.
        SELECT t.ledger_account_id AS account, t.quantity FROM trading_orderevent n
        JOIN trading_order t ON t.id = n.order_id
        WHERE e.reason = 'NOT_ELIGIBLE' AND n.token_id = of_token AND n.number > e.number
            AND n.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
        ORDER BY n.number LIMIT 1
    ) t ON TRUE
    WHERE e.token_id = of_token AND e.number > since_event
        AND e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
        AND CASE e.reason
        WHEN 'END_OF_SESSION' THEN e.kind = 'ORDER_EXPIRED' AND e.actor = 'market'
            AND o.time_in_force = 'DAY' AND o.expires_at <= judged_at
        WHEN 'TIME_IN_FORCE' THEN e.kind = 'ORDER_EXPIRED' AND e.actor = 'market'
            AND o.time_in_force <> 'DAY' AND o.expires_at <= judged_at
        WHEN 'BY_PARTNER' THEN e.actor = p.login
        WHEN 'CANCEL_TIMER' THEN e.actor = 'market' AND EXISTS (
            SELECT FROM trading_canceltimer x WHERE x.partner_id = o.partner_id
                AND x.fired_at >= transaction_timestamp())
        WHEN 'PARAMETERS_CHANGED' THEN e.actor = 'market' AND EXISTS (
            SELECT FROM trading_market m WHERE m.token_id = of_token
                AND m.phase_since >= transaction_timestamp()
                AND trading_is_off(o.limit_price, o.quantity - o.filled, m.tick_cents,
                    m.tick_floors, m.tick_steps, m.lot_units, m.collar_bps,
                    m.reference_price)
                AND o.created_at < (SELECT max(x.valid_from)
                    FROM trading_marketparameters x
                    WHERE x.token_id = of_token AND x.valid_from <= judged_at))
        WHEN 'BY_STAFF' THEN
            accounts_staff_with(e.actor, 'trading.change_market') IS NOT NULL
        WHEN 'IMMEDIATE_OR_CANCEL' THEN e.actor = p.login AND o.time_in_force = 'IOC'
            AND o.created_at = judged_at
        WHEN 'FILL_OR_KILL' THEN e.actor = p.login AND o.time_in_force = 'FOK'
            AND o.filled = 0 AND NOT trading_could_fill(of_token, o.id, e.number,
                since_event, judged_at)
        WHEN 'SELF_TRADE' THEN CASE WHEN is_call THEN e.actor = 'market'
            ELSE e.actor = p.login AND EXISTS (
                SELECT FROM trading_orderevent n WHERE n.token_id = of_token
                    AND n.number > since_event AND n.order_id = o.id
                    AND n.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')) END
            AND EXISTS (
            -- Of the user's orders those that are open, or have changed since.
            SELECT FROM (
                SELECT x.* FROM trading_order x WHERE x.user_id = o.user_id
                    AND x.status = 'OPEN' AND x.token_id = of_token
                UNION ALL
                SELECT x.* FROM trading_orderevent n
                JOIN trading_order x ON x.id = n.order_id AND x.user_id = o.user_id
                WHERE n.token_id = of_token
                    AND n.number > CASE WHEN is_call THEN since_event ELSE e.number END
            ) q WHERE q.side <> o.side
                AND q.priority < CASE WHEN is_call THEN o.priority ELSE e.number END
                AND CASE o.side WHEN 0 THEN q.limit_price <= o.limit_price
                    ELSE q.limit_price >= o.limit_price END)
        WHEN 'ACCOUNT_NOT_ACTIVE' THEN (SELECT a.status <> 'ACTIVE'
            FROM accounts_account a WHERE a.id = o.account_id)
        ELSE EXISTS (
            SELECT FROM register_standing(of_token, ARRAY[o.ledger_account_id],
                judged_at, FALSE) s
            CROSS JOIN issuers_tokenledgerhead h
            LEFT JOIN issuers_holderbalance b ON b.token_id = of_token
                AND b.account_id = o.ledger_account_id
            WHERE h.token_id = of_token AND CASE e.reason
                WHEN 'HOLDER_FROZEN' THEN TRUE
                WHEN 'NOT_ELIGIBLE' THEN t.account IS NULL
                WHEN 'UNITS_LOCKED' THEN o.side = 1 AND s.locked > 0
                WHEN 'RULE_CHANGED' THEN TRUE END
                AND (e.reason = 'UNITS_LOCKED'
                    OR CASE o.side WHEN 0 THEN s.receiving ELSE s.sending END <> '[]'
                    OR e.reason = 'RULE_CHANGED' AND EXISTS (
                        SELECT FROM register_judge(of_token, 'TRADE',
                            CASE o.side WHEN 1 THEN o.ledger_account_id END,
                            CASE o.side WHEN 0 THEN o.ledger_account_id END,
                            o.quantity - o.filled, judged_at, FALSE,
                            coalesce(b.balance, 0), 0, coalesce(b.balance, 0), h.supply,
                            h.holder_count, h.holder_count
                                + (o.side = 0 AND coalesce(b.balance, 0) = 0)::integer)))
            UNION ALL
            SELECT FROM issuers_tokenledgerhead h
            CROSS JOIN LATERAL (SELECT
                CASE o.side WHEN 1 THEN o.ledger_account_id ELSE t.account END AS gives,
                CASE o.side WHEN 0 THEN o.ledger_account_id ELSE t.account END AS takes
            ) m
            CROSS JOIN LATERAL (
                -- In the call a holder may have had less to give, and more.
                SELECT coalesce(min(b.balance) FILTER (WHERE b.account_id = m.gives), 0)
                        AS given,
                    coalesce(min(b.balance) FILTER (WHERE b.account_id = m.takes), 0)
                        AS taken
                FROM issuers_holderbalance b WHERE b.token_id = of_token
                    AND b.account_id IN (m.gives, m.takes)
            ) b
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(l.amount) FILTER (WHERE l.source_id = m.takes), 0)
                        AS gave,
                    coalesce(sum(l.amount) FILTER (WHERE l.target_id = m.gives), 0)
                        AS took
                FROM trading_execution x JOIN issuers_ledgertransaction l
                    ON l.token_id = of_token AND l.seq = x.ledger_seq
                WHERE x.token_id = of_token AND x.event > since_event
                    AND x.at = judged_at
            ) c
            WHERE e.reason = 'NOT_ELIGIBLE' AND t.account IS NOT NULL
                AND h.token_id = of_token AND EXISTS (
                SELECT FROM register_judge(of_token, 'TRADE', m.gives, m.takes,
                    least(o.quantity - o.filled, t.quantity), judged_at, FALSE,
                    b.given - c.took, 0, b.taken + c.gave, h.supply, h.holder_count,
                    h.holder_count + 1))
            UNION ALL
            -- In an auction, with all that its holder and others would have bought.
            SELECT FROM issuers_tokenledgerhead h
            LEFT JOIN issuers_holderbalance b ON b.token_id = of_token
                AND b.account_id = o.ledger_account_id
            CROSS JOIN LATERAL (
                SELECT count(DISTINCT x.ledger_account_id) AS buyers,
                    sum(CASE WHEN x.ledger_account_id = o.ledger_account_id
                        THEN x.quantity - x.filled ELSE 0 END) AS units
                FROM trading_order x
                WHERE x.token_id = of_token AND x.side = o.side
                    AND (x.status = 'OPEN' OR x.last_event > since_event)
            ) q
            WHERE is_call AND e.reason = 'NOT_ELIGIBLE' AND e.actor = 'market'
                AND h.token_id = of_token AND EXISTS (
                SELECT FROM register_judge(of_token, 'TRADE',
                    CASE o.side WHEN 1 THEN o.ledger_account_id END,
                    CASE o.side WHEN 0 THEN o.ledger_account_id END, q.units,
                    judged_at, FALSE, coalesce(b.balance, 0), 0, coalesce(b.balance, 0),
                    h.supply, h.holder_count, h.holder_count
                        + CASE o.side WHEN 0 THEN q.buyers ELSE 0 END)))
        END IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order ends for a reason that is so, and by its partner, by '
            'staff or by the clock: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_endings(uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_priority(of_token uuid, since_event bigint, since_trade bigint, judged_at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
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
REVOKE ALL ON FUNCTION public.trading_judge_priority(uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_keep_refused(ids uuid[], partners uuid[], times timestamp with time zone[], codes text[], numbers bigint[], messages text[], accounts uuid[], tokens uuid[], orders uuid[], sides smallint[], quantities numeric[], limits numeric[], times_in_force text[], client_order_ids text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF 'infinity' = ANY (times) OR '-infinity' = ANY (times) THEN
        RAISE EXCEPTION 'An order was refused at a time.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_refusedorder (id, partner_id, at, code, number, message,
        account_id, token_id, order_id, side, quantity, limit_price, time_in_force,
        client_order_id)
    SELECT n.* FROM unnest(ids, partners, times, codes, numbers, messages, accounts,
        tokens, orders, sides, quantities, limits, times_in_force, client_order_ids)
        AS n (id, partner, at, code, number, message, account)
    WHERE n.account IS NOT NULL
    ON CONFLICT (id) DO NOTHING;
    INSERT INTO trading_refusedorder AS r (id, partner_id, at, code, number)
    SELECT n.id, n.partner, n.at, n.code, n.number
    FROM unnest(ids, partners, times, codes, numbers, accounts)
        AS n (id, partner, at, code, number, account)
    WHERE n.account IS NULL
    ORDER BY n.partner, n.at, n.code
    ON CONFLICT (partner_id, at, code) WHERE account_id IS NULL
        DO UPDATE SET number = r.number + excluded.number;
END $$;
REVOKE ALL ON FUNCTION public.trading_keep_refused(uuid[], uuid[], timestamp with time zone[], text[], bigint[], text[], uuid[], uuid[], uuid[], smallint[], numeric[], numeric[], text[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_lock_markets(tokens uuid[])
RETURNS TABLE(token_id uuid, source text, last_sequence bigint, last_snapshot bigint, last_trade bigint, phase text, next_phase text, next_phase_at timestamp with time zone, session_opens time without time zone, session_closes time without time zone, weekdays_only boolean, tick_cents bigint, lot_units bigint, collar_bps integer, reference_price bigint, last_event bigint, last_at timestamp with time zone, parameters json) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.token_id, h.source::text, h.last_sequence, h.last_snapshot,
            h.last_trade, m.phase::text, m.next_phase::text, m.next_phase_at,
            m.session_opens, m.session_closes, m.weekdays_only, m.tick_cents,
            m.lot_units, m.collar_bps, m.reference_price, m.last_event, m.last_at,
            json_build_array(m.holidays, m.tick_floors, m.tick_steps, m.most_value,
                m.most_units, m.dynamic_band_bps, m.model, m.fixings)
        FROM marketdata_orderbookhead h
        LEFT JOIN trading_market m ON m.token_id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
END $$;
REVOKE ALL ON FUNCTION public.trading_lock_markets(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_open(token uuid, opens time without time zone, closes time without time zone, weekdays boolean, begins timestamp with time zone, tick bigint, lot bigint, collar integer, reference bigint, opened_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    opened_at timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(opened_by, 'trading.change_market');
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF head.source IS DISTINCT FROM 'EXTERNAL' OR NOT isfinite(begins) THEN
        RAISE EXCEPTION 'A market opens once, on a token that has an order book, at a '
            'time that comes.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(token, head.last_sequence, sides, prices, empty,
            ends, '{}', '{}', FALSE);
    END IF;
    opened_at := clock_timestamp();
    UPDATE marketdata_orderbookhead SET source = 'OWN' WHERE token_id = token;
    INSERT INTO trading_market (token_id, phase, phase_since, next_phase, next_phase_at,
        session_opens, session_closes, weekdays_only, tick_cents, lot_units, collar_bps,
        dynamic_band_bps, reference_price, last_event, last_phase_event, last_at,
        halt_reason)
    VALUES (token, 'CLOSED', opened_at, 'CONTINUOUS', begins, opens, closes, weekdays,
        tick, lot, collar, greatest(collar / 2, 1), reference, 1, 1, opened_at, '');
    INSERT INTO trading_marketparameters (token_id, session_opens, session_closes,
        weekdays_only, tick_cents, lot_units, collar_bps, dynamic_band_bps, valid_from,
        opens_at, announced_at, reason, created_by, approved_by, created_at)
    VALUES (token, opens, closes, weekdays, tick, lot, collar, greatest(collar / 2, 1),
        opened_at, greatest(begins, opened_at), opened_at, '', opened_by, '', opened_at);
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, 1, 'PHASE_CHANGED', reference, 'CLOSED', '', opened_by, opened_at);
END $$;
REVOKE ALL ON FUNCTION public.trading_open(uuid, time without time zone, time without time zone, boolean, timestamp with time zone, bigint, bigint, integer, bigint, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_opening(of_token uuid, by_model text)
RETURNS text LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT CASE WHEN by_model = 'FIXING' OR NOT m.shows_book OR (
        SELECT e.phase = 'HALTED' FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.order_id IS NULL AND e.phase <> 'CLOSED'
        ORDER BY e.number DESC LIMIT 1) THEN 'CALL' ELSE 'CONTINUOUS' END
    FROM trading_market m WHERE m.token_id = of_token
$$;
REVOKE ALL ON FUNCTION public.trading_opening(uuid, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_read(of_token uuid, accounts uuid[], sides smallint[], prices bigint[], client_ids text[], bid bigint, ask bigint, most integer, buys_wanted numeric, sells_wanted numeric, own uuid[], most_open integer, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_variable
DECLARE
    last timestamptz;
    clock timestamptz;
    judged_at timestamptz;
    head json;
    parameters json;
    makers json;
    clients json;
    own_orders json;
    ends json;
    holders bigint[];
    heads bigint[];
    users uuid[];
    reached uuid[];
    fees_account bigint;
    is_bound boolean;
    is_call boolean;
    is_shown boolean;
    last_price bigint;
    settling integer;
BEGIN
    IF holds THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed since, '
            'such as a freeze.' USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM FROM marketdata_orderbookhead h
            WHERE h.token_id = of_token FOR NO KEY UPDATE;
        PERFORM register_mark(ARRAY[of_token]);
        SELECT greatest(h.last_effective_at, h.last_price_at) INTO last
        FROM issuers_tokenledgerhead h WHERE h.token_id = of_token FOR UPDATE;
        WHILE last > clock_timestamp()
            AND last <= clock_timestamp() + interval '1 second'
        LOOP
            PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
        END LOOP;
    END IF;
    clock := clock_timestamp();
    IF holds THEN
        -- A block of orders waits until the transaction has ended. Rows that it locked
        -- instead would be written for every order, and many orders could starve it.
        PERFORM pg_advisory_xact_lock_shared(
            hashtextextended('orders of partner' || p.partner_id, 0))
        FROM (SELECT DISTINCT a.partner_id FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.partner_id) p;
        PERFORM FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
    END IF;
    SELECT json_build_array(h.source, h.last_sequence, h.last_snapshot, h.last_trade,
            m.phase, m.next_phase, m.next_phase_at, m.session_opens, m.session_closes,
            m.weekdays_only, m.tick_cents, m.lot_units, m.collar_bps, m.reference_price,
            m.last_event, m.last_at, t.symbol, t.issuer_id, t.created_at,
            t.authorized_units, l.last_seq, l.last_price, l.supply, l.held,
            l.holder_count, l.price_cents, l.is_open,
            greatest(l.last_effective_at, l.last_price_at),
            CASE WHEN holds THEN clock ELSE greatest(
                clock, l.last_effective_at, l.last_price_at) END),
        greatest(m.last_at, CASE WHEN holds THEN clock ELSE greatest(
            clock, l.last_effective_at, l.last_price_at) END),
        m.fees_account_id, m.phase = 'CALL', m.shows_book,
        CASE m.phase WHEN 'AT_LAST' THEN m.reference_price ELSE m.last_price END,
        json_build_array(m.holidays, m.tick_floors, m.tick_steps, m.most_value,
            m.most_units, m.dynamic_band_bps, m.model, m.fixings)
    INTO head, judged_at, fees_account, is_call, is_shown, last_price, parameters
    FROM marketdata_orderbookhead h
    JOIN trading_market m ON m.token_id = h.token_id
    JOIN issuers_tokenledgerhead l ON l.token_id = h.token_id
    JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = of_token AND h.source = 'OWN';
    IF head IS NULL THEN
        RETURN NULL;
    END IF;
    WITH found AS MATERIALIZED (
        (SELECT o.* FROM trading_order o
        WHERE o.token_id = of_token AND o.side = 1 AND o.status = 'OPEN'
            AND o.limit_price <= bid AND NOT is_call
        ORDER BY o.limit_price, o.priority LIMIT most)
        UNION ALL
        (SELECT o.* FROM trading_order o
        WHERE o.token_id = of_token AND o.side = 0 AND o.status = 'OPEN'
            AND o.limit_price >= ask AND NOT is_call
        ORDER BY o.limit_price DESC, o.priority LIMIT most)
    ), ranked AS MATERIALIZED (
        SELECT f.*, row_number() OVER by_place AS place,
            coalesce(sum(CASE WHEN f.expires_at <= judged_at THEN 0
                ELSE f.quantity - f.filled END) OVER (by_place ROWS BETWEEN UNBOUNDED
                PRECEDING AND 1 PRECEDING), 0)
                < CASE f.side WHEN 0 THEN buys_wanted ELSE sells_wanted END AS is_reached
        FROM found f
        WINDOW by_place AS (PARTITION BY f.side ORDER BY
            CASE f.side WHEN 1 THEN f.limit_price ELSE -f.limit_price END, f.priority)
    ), met AS MATERIALIZED (
        SELECT r.* FROM ranked r WHERE r.is_reached OR r.expires_at <= judged_at
    )
    SELECT json_agg(json_build_array(r.id, r.token_id, r.account_id, r.user_id,
            r.ledger_account_id, r.cash_account_id, r.partner_id, r.side, r.limit_price,
            r.quantity, r.filled, r.filled_value, r.time_in_force, r.expires_at,
            r.status, r.status_reason, r.priority, r.version, r.last_event,
            r.client_order_id, r.created_at, r.updated_at) ORDER BY r.side, r.place),
        array_agg(r.ledger_account_id), array_agg(r.cash_account_id), array_agg(r.id),
        (SELECT json_object_agg(x.side, x.price) FROM (
            SELECT s.side, coalesce(
                min(s.limit_price) FILTER (WHERE NOT s.is_reached AND s.side = 1),
                max(s.limit_price) FILTER (WHERE NOT s.is_reached AND s.side = 0),
                CASE WHEN count(*) = most THEN CASE s.side
                    WHEN 1 THEN max(s.limit_price) ELSE min(s.limit_price) END END)
                AS price
            FROM ranked s GROUP BY s.side) x)
    INTO makers, holders, heads, reached, ends FROM met r;
    SELECT json_agg(json_build_array(a.id, a.user_id, a.partner_id,
            CASE WHEN a.status = 'ACTIVE' AND a.updated_at > judged_at THEN coalesce((
                SELECT h.status FROM accounts_accountstatuschange h
                WHERE h.account_id = a.id AND h.created_at <= judged_at
                ORDER BY h.number DESC LIMIT 1), 'PENDING') ELSE a.status END,
            CASE WHEN holds THEN l.id ELSE coalesce(l.id, 0) END, c.id)),
        array_agg(a.user_id) FILTER (WHERE l.id IS NULL),
        coalesce(holders, '{}') || array_agg(l.id),
        coalesce(heads, '{}') || array_agg(c.id)
    INTO clients, users, holders, heads
    FROM accounts_account a
    LEFT JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
    JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = ANY (accounts);
    -- The settlement of an offering holds cash for seconds: no order waits for it.
    IF EXISTS (SELECT FROM issuers_offering s WHERE s.settling_until > clock) THEN
        settling := offerings_settling(heads || ARRAY(
            SELECT o.cash_account_id FROM trading_order o WHERE o.id = ANY (own)));
        IF settling IS NOT NULL THEN
            RETURN json_build_object('settling', settling);
        END IF;
    END IF;
    IF holds THEN
        IF users IS NOT NULL THEN
            RETURN json_build_object('missing', users);
        END IF;
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (holders) ORDER BY a.id FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = ANY (heads)
            ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    END IF;
    is_bound := EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.token_id = of_token AND r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ledger_account_id = ANY (holders)
                AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp()));
    IF cardinality(own) > 0 THEN
        SELECT json_agg(json_build_array(r.id, r.token_id, r.account_id, r.user_id,
            r.ledger_account_id, r.cash_account_id, r.partner_id, r.side, r.limit_price,
            r.quantity, r.filled, r.filled_value, r.time_in_force, r.expires_at,
            r.status, r.status_reason, r.priority, r.version, r.last_event,
            r.client_order_id, r.created_at, r.updated_at) ORDER BY r.priority)
        INTO own_orders FROM trading_order r
        WHERE r.id = ANY (own) AND r.token_id = of_token;
    END IF;
    RETURN json_build_object(
        'head', head, 'parameters', parameters, 'last_price', last_price,
        'is_over', is_call AND NOT EXISTS (
            SELECT FROM trading_market m JOIN trading_auction a
                ON a.token_id = m.token_id AND a.began = m.last_phase_event
            WHERE m.token_id = of_token AND a.ends_at > judged_at AND a.fills IS NULL),
        'makers', coalesce(makers, '[]'), 'ends', coalesce(ends, '{}'),
        'clients', coalesce(clients, '[]'), 'own', coalesce(own_orders, '[]'),
        'blocked', CASE WHEN EXISTS (
            SELECT FROM trading_orderblock b WHERE b.released_at IS NULL) THEN (
            SELECT json_agg(a.id) FROM accounts_account a
            WHERE a.id = ANY (accounts) AND EXISTS (
                SELECT FROM trading_orderblock b WHERE b.released_at IS NULL
                    AND (b.partner_id = a.partner_id OR b.partner_id IS NULL)
                    AND (b.account_id = a.id OR b.account_id IS NULL)
                    AND (b.token_id = of_token OR b.token_id IS NULL))) END,
        'fees', CASE WHEN fees_account IS NOT NULL THEN json_build_object(
            'tariffs', (
                SELECT json_agg(json_build_array(p.partner_id, t.maker_bps, t.taker_bps,
                    t.minimum, t.maximum, t.vat_bps))
                FROM (SELECT DISTINCT a.partner_id FROM accounts_account a
                    WHERE a.id = ANY (accounts)) p
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_tariff x WHERE x.token_id = of_token
                        AND (x.partner_id = p.partner_id OR x.partner_id IS NULL)
                        AND x.valid_from <= judged_at
                        AND (x.ended_at > judged_at) IS NOT FALSE
                    ORDER BY x.partner_id IS NULL, x.valid_from DESC LIMIT 1) t),
            'orders', (
                SELECT json_agg(json_build_array(f.order_id, t.maker_bps, t.taker_bps,
                    t.minimum, t.maximum, t.vat_bps, f.maker_value, f.taker_value,
                    f.paid, f.reserved))
                FROM unnest(reached || own) AS w (id)
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_orderfee x WHERE x.order_id = w.id LIMIT 1) f
                CROSS JOIN LATERAL (
                    SELECT * FROM trading_tariff x WHERE x.id = f.tariff_id LIMIT 1) t)
            ) END,
        'units', (
            SELECT json_agg(json_build_array(u.account, coalesce(b.balance, 0),
                coalesce(b.reserved, 0)))
            FROM (SELECT DISTINCT unnest(holders) AS account) u
            LEFT JOIN issuers_holderbalance b
                ON b.token_id = of_token AND b.account_id = u.account),
        'standings', CASE WHEN is_bound THEN (
            SELECT json_agg(json_build_array(coalesce(s.account, 0), s.is_paused,
                s.sending::text, s.receiving::text, s.locked, s.locked_until, s.most_units,
                s.most_bps, s.most_holders))
            FROM register_standing(of_token,
                ARRAY(SELECT DISTINCT unnest(array_remove(holders, NULL))),
                judged_at, FALSE, users[1]) s) END,
        'cash', (
            SELECT json_agg(json_build_array(h.cash_account_id, h.balance, h.reserved))
            FROM accounts_cashhead h WHERE h.cash_account_id = ANY (heads)),
        'levels', CASE WHEN is_shown THEN (
            SELECT json_agg(json_build_array(b.side, b.price_cents, b.quantity))
            FROM (SELECT DISTINCT w.side, w.price
                FROM unnest(sides, prices) AS w (side, price)) w
            JOIN marketdata_booklevel b ON b.token_id = of_token AND b.side = w.side
                AND b.price_cents = w.price) ELSE (
            SELECT json_agg(json_build_array(l.side, l.price, l.units)) FROM (
                SELECT o.side, o.limit_price AS price, sum(o.quantity - o.filled) AS units
                FROM (SELECT DISTINCT w.side, w.price
                    FROM unnest(sides, prices) AS w (side, price)) w
                JOIN trading_order o ON o.token_id = of_token AND o.side = w.side
                    AND o.limit_price = w.price AND o.status = 'OPEN'
                GROUP BY o.side, o.limit_price) l) END,
        'used', (
            SELECT json_agg(json_build_array(o.account_id, o.client_order_id, o.id))
            FROM unnest(accounts, client_ids) AS w (account, client_id)
            JOIN trading_order o
                ON o.account_id = w.account AND o.client_order_id = w.client_id
            WHERE w.client_id IS NOT NULL),
        'open', (
            SELECT json_agg(json_build_array(w.account, (SELECT count(*) FROM (
                SELECT FROM trading_order o WHERE o.account_id = w.account
                    AND o.token_id = of_token AND o.status = 'OPEN'
                LIMIT most_open) o)))
            FROM (SELECT DISTINCT unnest(accounts) AS account) w));
END $$;
REVOKE ALL ON FUNCTION public.trading_read(uuid, uuid[], smallint[], bigint[], text[], bigint, bigint, integer, numeric, numeric, uuid[], integer, boolean) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_reference(of_token uuid)
RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = of_token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = of_token),
        (SELECT m.reference_price FROM trading_market m WHERE m.token_id = of_token))
$$;
REVOKE ALL ON FUNCTION public.trading_reference(uuid) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_session(opens time without time zone, closes time without time zone, weekdays boolean, holidays date[], at timestamp with time zone)
RETURNS TABLE(opens_at timestamp with time zone, closes_at timestamp with time zone, is_open boolean) LANGUAGE sql STABLE
SET search_path = pg_catalog, public, pg_temp
AS $$
    SELECT min(s.begins) FILTER (WHERE s.begins >= at),
        min(s.ends) FILTER (WHERE s.ends > at),
        coalesce(bool_or(s.begins <= at AND at < s.ends), FALSE)
    -- Holidays and the weekends between them are fewer days than these.
    FROM (SELECT (at AT TIME ZONE market_time_zone())::date + n AS day
          FROM generate_series(-1, 10 + 2 * cardinality(holidays)) AS n) d
    CROSS JOIN LATERAL (SELECT
        (d.day + opens) AT TIME ZONE market_time_zone() AS begins,
        (d.day + (closes <= opens)::integer + closes) AT TIME ZONE market_time_zone()
            AS ends) s
    WHERE NOT (weekdays AND extract(isodow FROM d.day) > 5)
        AND d.day <> ALL (holidays)
$$;
REVOKE ALL ON FUNCTION public.trading_session(time without time zone, time without time zone, boolean, date[], timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_set_parameters(actor text, of_token uuid, terms jsonb, why text)
RETURNS SETOF trading_marketparameters LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    made trading_marketparameters;
    approver text;
    replaced bigint;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token AND h.source = 'OWN' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Parameters are of an internal market: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT p.id INTO replaced FROM trading_marketparameters p
        WHERE p.token_id = of_token ORDER BY p.valid_from DESC, p.id DESC LIMIT 1;
    approver := approvals_use_by(actor, 'PARAMETERS', jsonb_build_object(
        'token', of_token, 'terms', terms, 'replaces', replaced, 'reason', why));
    made := jsonb_populate_record(NULL::trading_marketparameters, terms);
    IF EXISTS (
        SELECT FROM (
            SELECT t.floor, t.step, lag(t.floor, 1, 0::bigint) OVER w AS below,
                lag(t.step, 1, made.tick_cents) OVER w AS before
            FROM unnest(made.tick_floors, made.tick_steps) WITH ORDINALITY
                AS t (floor, step, place)
            WINDOW w AS (ORDER BY t.place)
        ) t
        WHERE (t.step > 0 AND t.floor > t.below AND t.floor % t.step = 0
            AND t.floor % t.before = 0) IS NOT TRUE
    ) OR cardinality(made.tick_floors) > 24 OR cardinality(made.holidays) > 366
        OR made.fixings <> ARRAY(SELECT DISTINCT f FROM unnest(made.fixings) AS f ORDER BY f)
    THEN
        RAISE EXCEPTION 'Each floor of the ticks is above the one before, and a multiple '
            'of the ticks on both sides; there are at most 24, and 366 holidays; fixings '
            'are in order: %.', of_token USING ERRCODE = 'restrict_violation';
    END IF;
    made.created_at := clock_timestamp();
    SELECT CASE WHEN s.is_open THEN s.closes_at ELSE made.created_at END
    INTO made.valid_from
    FROM (SELECT * FROM trading_marketparameters p
        WHERE p.token_id = of_token AND p.valid_from <= made.created_at
        ORDER BY p.valid_from DESC, p.id DESC LIMIT 1) p
    CROSS JOIN LATERAL trading_session(p.session_opens, p.session_closes,
        p.weekdays_only, p.holidays, made.created_at) s;
    SELECT s.opens_at INTO made.opens_at
    FROM trading_session(made.session_opens, made.session_closes, made.weekdays_only,
        made.holidays, made.valid_from) s;
    INSERT INTO trading_marketparameters (token_id, session_opens, session_closes,
        weekdays_only, holidays, tick_cents, tick_floors, tick_steps, lot_units,
        collar_bps, dynamic_band_bps, model, fixings, at_last_minutes, most_value,
        most_units, valid_from, opens_at, replaces_id, reason, created_by, approved_by,
        created_at)
    VALUES (of_token, made.session_opens, made.session_closes, made.weekdays_only,
        made.holidays, made.tick_cents, made.tick_floors, made.tick_steps,
        made.lot_units, made.collar_bps, made.dynamic_band_bps, made.model, made.fixings,
        coalesce(made.at_last_minutes, 0), made.most_value, made.most_units,
        made.valid_from, made.opens_at, replaced, why, actor, approver,
        made.created_at)
    RETURNING * INTO made;
    -- A market that stays closed until then opens by them.
    UPDATE trading_market m SET next_phase_at = made.opens_at,
        next_phase = trading_opening(of_token, made.model)
        WHERE m.token_id = of_token AND m.phase = 'CLOSED'
            AND (made.valid_from = made.created_at
                OR m.next_phase_at >= made.valid_from);
    IF FOUND OR made.valid_from = made.created_at THEN
        PERFORM trading_apply_parameters(of_token, made.valid_from);
    END IF;
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PARAMETERS_CHANGED'],
        ARRAY[of_token], NULL, ARRAY[of_token], NULL);
    RETURN NEXT made;
END $$;
REVOKE ALL ON FUNCTION public.trading_set_parameters(text, uuid, jsonb, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_set_tariff(actor text, of_token uuid, of_partner uuid, begins timestamp with time zone, maker integer, taker integer, least_cents bigint, most_cents bigint, vat integer, why text)
RETURNS SETOF trading_tariff LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_variable
DECLARE
    present trading_tariff;
    approver text;
    account bigint;
    moment timestamptz;
    starts timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = of_token AND h.source = 'OWN' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A tariff is of an internal market: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO present FROM trading_tariff t
        WHERE t.token_id = of_token AND t.partner_id IS NOT DISTINCT FROM of_partner
            AND t.ended_at IS NULL;
    moment := clock_timestamp();
    starts := greatest(begins, moment);
    IF maker IS NULL AND present.id IS NULL OR starts < present.valid_from
        AND maker IS NOT NULL THEN
        RAISE EXCEPTION 'A tariff follows one that has begun, or ends one: %.',
            of_token USING ERRCODE = 'restrict_violation';
    END IF;
    approver := approvals_use_by(actor, 'TARIFF', jsonb_build_object('token', of_token,
        'partner', of_partner, 'from', floor(extract(epoch FROM begins)),
        'terms', CASE WHEN maker IS NOT NULL THEN jsonb_build_object('maker', maker,
            'taker', taker, 'minimum', least_cents, 'maximum', most_cents, 'vat', vat)
            END,
        'replaces', present.id) || CASE WHEN maker IS NULL THEN '{}'
            ELSE jsonb_build_object('reason', why) END);
    UPDATE trading_tariff t SET ended_at = greatest(starts, t.valid_from),
        ended_by = actor WHERE t.id = present.id;
    IF maker IS NULL THEN
        RETURN;
    END IF;
    IF NOT EXISTS (SELECT FROM trading_market m
            WHERE m.token_id = of_token AND m.fees_account_id IS NOT NULL) THEN
        INSERT INTO accounts_cashaccount (kind) VALUES ('MARKET')
            RETURNING id INTO account;
        INSERT INTO accounts_cashhead
            (cash_account_id, kind, balance, reserved, last_number, entry_digest)
        VALUES (account, 'MARKET', 0, 0, 0, decode(repeat('00', 32), 'hex'));
        UPDATE trading_market m SET fees_account_id = account
            WHERE m.token_id = of_token;
    END IF;
    RETURN QUERY INSERT INTO trading_tariff (token_id, partner_id, maker_bps, taker_bps,
        minimum, maximum, vat_bps, valid_from, replaces_id, reason, created_by,
        approved_by, created_at, ended_by)
    VALUES (of_token, of_partner, maker, taker, least_cents, most_cents, vat, starts,
        present.id, why, actor, approver, moment, '')
    RETURNING *;
END $$;
REVOKE ALL ON FUNCTION public.trading_set_tariff(text, uuid, uuid, timestamp with time zone, integer, integer, bigint, bigint, integer, text) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_sweep()
RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
DECLARE
    house bigint;
    paid bigint[];
BEGIN
    PERFORM accounts_read_committed();
    SELECT c.id INTO house FROM accounts_cashaccount c WHERE c.kind = 'FEES';
    PERFORM FROM accounts_cashhead h
        WHERE h.kind IN ('FEES', 'MARKET')
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    SELECT cash_post(clock_timestamp(), array_agg('FEE'::text ORDER BY h.account),
        array_agg(CASE WHEN h.balance > 0 THEN h.account ELSE house END
            ORDER BY h.account),
        array_agg(CASE WHEN h.balance > 0 THEN house ELSE h.account END
            ORDER BY h.account),
        array_agg(abs(h.balance) ORDER BY h.account),
        array_agg('market'::text ORDER BY h.account), array_agg(''::text),
        array_agg(NULL::text), array_agg(NULL::bigint), array_agg(NULL::bigint),
        array_agg(NULL::uuid), '{}', '{}')
    INTO paid
    FROM (SELECT x.cash_account_id AS account, x.balance FROM accounts_cashhead x
        WHERE x.kind = 'MARKET' AND x.balance <> 0 LIMIT 5000) h
    HAVING count(*) > 0;
    RETURN coalesce(cardinality(paid), 0);
END $$;
REVOKE ALL ON FUNCTION public.trading_sweep() FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_write(of_token uuid, judged_at timestamp with time zone, kinds text[], orders uuid[], messages integer[], units bigint[], limits bigint[], reasons text[], actors text[], is_priced boolean, new_orders uuid[], accounts uuid[], sides smallint[], in_force text[], expiries timestamp with time zone[], client_ids text[])
RETURNS TABLE(last_event bigint, last_change bigint, last_trade bigint, last_entry bigint, payments bigint[]) LANGUAGE plpgsql SECURITY DEFINER
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
    entry bigint;
    book_at timestamptz;
    moved_at timestamptz;
    wrong text;
    rule text;
    told bigint;
    changed_sides smallint[];
    changed_prices bigint[];
    changed_units bigint[];
    changed_ends boolean[];
    fill_prices bigint[];
    fill_units bigint[];
    fill_actors text[];
    sellers bigint[];
    buyers bigint[];
    paid_to bigint[];
    paid_by bigint[];
    buys uuid[];
    sells uuid[];
    buyer_accounts uuid[];
    seller_accounts uuid[];
    aggressors smallint[];
    fill_events bigint[];
    held_accounts bigint[];
    held_units numeric[];
    held_heads bigint[];
    held_cents bigint[];
    paid bigint[] := ARRAY[]::bigint[];
    fills integer;
    fees integer := 0;
    fee_trades bigint[];
    fee_sides smallint[];
    fee_payers bigint[];
    fee_nets bigint[];
    fee_vats bigint[];
    fee_actors text[];
    is_snapshot boolean := FALSE;
    last bigint;
    interrupts boolean := coalesce('OUTSIDE_BAND' = ANY (reasons), FALSE);
    base_price bigint;
    partners uuid[];
    limited uuid[];
    within_limits boolean;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF cardinality(kinds) NOT BETWEEN 1 AND 5000 THEN
        RAISE EXCEPTION 'A call has 1 to 5,000 steps.' USING ERRCODE = 'restrict_violation';
    END IF;
    -- Steps and orders are found by their places, which count from 1.
    IF (concat(array_dims(orders), array_dims(actors))
            = repeat(format('[1:%s]', cardinality(kinds)), 2)
        AND concat(array_dims(accounts), array_dims(sides), array_dims(in_force),
                array_dims(expiries), array_dims(client_ids))
            = CASE cardinality(new_orders) WHEN 0 THEN ''
                ELSE repeat(format('[1:%s]', cardinality(new_orders)), 5) END
        AND (SELECT count(*) FILTER (WHERE s.kind = 'ORDER_ACCEPTED')
                    = cardinality(new_orders)
                AND count(DISTINCT s.id) FILTER (WHERE s.kind = 'ORDER_ACCEPTED')
                    = cardinality(new_orders)
                AND bool_and(coalesce(s.reason, '') = ''
                    OR s.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
                    OR s.reason = 'OUTSIDE_BAND')
            FROM unnest(kinds, orders, reasons) AS s (kind, id, reason))) IS NOT TRUE
        THEN
        RAISE EXCEPTION 'Each step has an order and who asked, each order that is taken '
            'has one step, and only an end has a reason.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    IF (head.source = 'OWN' AND judged_at >= market.last_at
        AND judged_at >= greatest(transaction_timestamp(),
            clock_timestamp() - interval '10 minutes')
        AND judged_at <= greatest(market.last_at, clock_timestamp())) IS NOT TRUE THEN
        RAISE EXCEPTION 'Orders are of an internal market, and judged in the '
            'transaction that writes them: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (market.phase IN ('AT_LAST', 'CONTINUOUS')
            AND (market.next_phase_at > judged_at) IS NOT FALSE) IS NOT TRUE
        AND (market.phase = 'CALL' AND EXISTS (
            SELECT FROM trading_auction a WHERE a.token_id = of_token
                AND a.began = market.last_phase_event AND a.fills IS NULL
                AND (a.ends_at > judged_at
                    OR NOT kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED']))
            AND NOT 'ORDER_TRADED' = ANY (kinds)) IS NOT TRUE
        AND (market.phase = 'CALL' OR kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED',
            'ORDER_TRADED']) THEN
        RAISE EXCEPTION 'Orders are taken while the market is CONTINUOUS, AT_LAST or in a '
            'CALL, and end before an auction binds them: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    -- A call that skips trading_read, too, keeps readers of an instant waiting, and a
    -- block of orders.
    PERFORM pg_advisory_xact_lock_shared(hashtext('writers of the register'),
        hashtext(of_token::text));
    SELECT h.last_seq INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token FOR UPDATE;
    partners := ARRAY(
        SELECT a.partner_id FROM accounts_account a WHERE a.id = ANY (accounts)
        UNION SELECT o.partner_id FROM unnest(kinds, orders) AS s (kind, id)
        JOIN trading_order o ON o.id = s.id WHERE s.kind = 'ORDER_AMENDED'
        ORDER BY partner_id);
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('orders of partner' || p.id, 0)) FROM unnest(partners) AS p (id);
    -- A caller that does not know of limits, which staff have just set, has not waited.
    limited := ARRAY(SELECT p.id FROM accounts_partner p WHERE p.id = ANY (partners)
        AND num_nonnulls(p.orders_per_second, p.open_value_limit) > 0);
    within_limits := (SELECT bool_and(pg_try_advisory_xact_lock(
        hashtextextended('limits of partner' || p.id, 0))) FROM unnest(limited) AS p (id));
    IF cardinality(accounts) > 0 THEN
        PERFORM FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
    END IF;
    fills := cardinality(array_positions(kinds, 'ORDER_TRADED'));
    base_price := CASE market.phase WHEN 'AT_LAST' THEN market.reference_price
        ELSE coalesce(market.last_price, market.reference_price) END;
    moved_at := least(judged_at, clock_timestamp());
    book_at := greatest(head.last_at, clock_timestamp());

    -- Windows over the rows of an order take the place of joins, which would compare
    -- each step of a list with all others.
    WITH steps AS MATERIALIZED (
        SELECT s.*,
            max(s.step) FILTER (WHERE s.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
                OVER (ORDER BY s.step) AS came
        FROM unnest(kinds, orders, messages, units, limits, reasons, actors)
            WITH ORDINALITY AS s (kind, id, message, units, price, reason, actor, step)
    ), lines AS (
        SELECT 0 AS step, 0 AS part, NULL AS kind, o.id, NULL::integer AS message,
            o.quantity AS units, o.limit_price AS price, NULL AS reason, NULL AS actor,
            NULL::bigint AS came, o.side, o.filled, o.filled_value AS value, o.priority,
            o.ledger_account_id AS ledger_account, o.cash_account_id AS cash_account,
            NULL::bigint AS nth, o.account_id AS account
        FROM (SELECT DISTINCT s.id FROM steps s) AS s
        -- LATERAL looks each order up, whatever the planner knows of the tables.
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = s.id LIMIT 1) o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
        UNION ALL
        SELECT 0, 0, NULL, n.id, NULL, NULL, NULL, NULL, NULL, NULL, n.side, 0, 0, 0,
            l.id, c.id, n.nth, a.id
        FROM unnest(new_orders, accounts, sides) WITH ORDINALITY
            AS n (id, account, side, nth)
        JOIN accounts_account a ON a.id = n.account
        LEFT JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
        LEFT JOIN accounts_cashaccount c ON c.account_id = n.account
        UNION ALL
        SELECT s.step, 0, s.kind, s.id, s.message, s.units, s.price, s.reason, s.actor,
            s.came, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM steps s
        UNION ALL
        SELECT s.step, 1, s.kind, orders[s.came], s.message, s.units, NULL, NULL,
            actors[s.came], s.came, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM steps s WHERE s.kind = 'ORDER_TRADED'
    ), known AS (
        SELECT l.step, l.part, l.kind, l.id, l.message, l.units, l.price, l.actor,
            coalesce(l.reason, '') AS reason, l.came,
            first_value(l.side) OVER w AS side,
            first_value(l.filled) OVER w AS filled_before,
            first_value(l.value) OVER w AS value_before,
            first_value(l.priority) OVER w AS priority_before,
            first_value(l.ledger_account) OVER w AS ledger_account,
            first_value(l.cash_account) OVER w AS cash_account,
            first_value(l.nth) OVER w AS nth,
            first_value(l.account) OVER w AS account,
            coalesce(first_value(l.units) OVER w, min(l.units) FILTER (
                WHERE l.kind = 'ORDER_ACCEPTED') OVER w) AS quantity_before,
            coalesce(first_value(l.price) OVER w, min(l.price) FILTER (
                WHERE l.kind = 'ORDER_ACCEPTED') OVER w) AS price_before
        FROM lines l
        WINDOW w AS (PARTITION BY l.id ORDER BY l.step, l.part
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ), numbered AS (
        SELECT k.step, k.part, k.kind, k.id, k.message, k.actor, k.reason, k.came,
            k.side, k.filled_before, k.value_before, k.priority_before,
            k.ledger_account, k.cash_account, k.nth, k.account, k.quantity_before,
            k.price_before,
            market.last_event + row_number() OVER by_number AS number,
            CASE WHEN k.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED') THEN k.price
                WHEN k.kind = 'ORDER_TRADED' THEN CASE k.part WHEN 0 THEN k.price_before
                    ELSE lag(k.price_before) OVER by_number END END AS price,
            CASE WHEN k.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED')
                THEN k.units END AS units,
            CASE WHEN k.kind = 'ORDER_TRADED' THEN head.last_trade
                + sum((k.kind = 'ORDER_TRADED' AND k.part = 0)::integer) OVER by_number
            END AS trade
        FROM known k WHERE k.step > 0
        WINDOW by_number AS (ORDER BY k.step, k.part)
    ), events AS MATERIALIZED (
        SELECT n.*,
            n.filled_before + coalesce(sum(n.units) FILTER (
                WHERE n.kind = 'ORDER_TRADED') OVER by_order, 0) AS filled,
            n.value_before + coalesce(sum(n.units * n.price) FILTER (
                WHERE n.kind = 'ORDER_TRADED') OVER by_order, 0) AS value,
            coalesce(max(n.units) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order,
                n.quantity_before) AS quantity,
            coalesce(max(n.price) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order,
                n.price_before) AS limit_price,
            coalesce(max(n.number) FILTER (WHERE n.kind = 'ORDER_ACCEPTED'
                OR n.kind = 'ORDER_AMENDED' AND NOT (n.price = n.price_before
                    AND n.units <= n.quantity_before)) OVER by_order,
                n.priority_before) AS place,
            count(*) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order AS amended,
            lead(n.number) OVER by_order IS NULL AS is_last,
            n.reason IN ('IMMEDIATE_OR_CANCEL', 'FILL_OR_KILL', 'SELF_TRADE',
                'OUTSIDE_BAND') AS stops
        FROM numbered n
        WINDOW by_order AS (PARTITION BY n.id ORDER BY n.number)
    ), ends AS MATERIALIZED (
        SELECT e.*, CASE e.kind WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                WHEN 'ORDER_EXPIRED' THEN 'EXPIRED' ELSE
                CASE e.quantity - e.filled WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END
                AS status
        FROM events e WHERE e.is_last
    ), put AS (
        INSERT INTO trading_order (id, token_id, account_id, user_id, ledger_account_id,
            cash_account_id, partner_id, side, limit_price, quantity, filled,
            filled_value, time_in_force, expires_at, status, status_reason, priority,
            version, last_event, client_order_id, created_at, updated_at)
        SELECT e.id, of_token, a.id, a.user_id, e.ledger_account, e.cash_account,
            a.partner_id, e.side, e.limit_price, e.quantity, e.filled, e.value,
            in_force[e.nth], expiries[e.nth], e.status,
            CASE WHEN e.status IN ('CANCELLED', 'EXPIRED') THEN e.reason END, e.place,
            1, e.number, client_ids[e.nth], judged_at, judged_at
        FROM ends e JOIN accounts_account a ON a.id = accounts[e.nth]
        WHERE e.nth IS NOT NULL
    ), updated AS (
        UPDATE trading_order o SET limit_price = e.limit_price, quantity = e.quantity,
            filled = e.filled, filled_value = e.value, status = e.status,
            status_reason = CASE WHEN e.status IN ('CANCELLED', 'EXPIRED')
                THEN e.reason END, priority = e.place,
            version = o.version + e.amended, last_event = e.number,
            updated_at = judged_at
        FROM ends e WHERE e.nth IS NULL AND o.id = e.id
    ), noted AS (
        INSERT INTO trading_orderevent (token_id, number, kind, order_id, price,
            quantity, filled, remaining, value, priority, trade, reason, actor, at)
        SELECT of_token, e.number, e.kind, e.id, e.price, e.units, e.filled,
            e.quantity - e.filled, e.value,
            CASE WHEN e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED') THEN e.place END,
            e.trade, e.reason, e.actor, judged_at
        FROM events e
    ), held AS (
        SELECT e.side, CASE e.side WHEN 1 THEN e.ledger_account ELSE e.cash_account END
                AS account,
            sum(h.after - h.before) AS delta
        FROM ends e
        CROSS JOIN LATERAL (SELECT
            CASE e.status WHEN 'OPEN' THEN (e.quantity - e.filled)
                * CASE e.side WHEN 1 THEN 1 ELSE e.limit_price END ELSE 0 END AS after,
            CASE WHEN e.nth IS NOT NULL THEN 0
                ELSE (e.quantity_before - e.filled_before)
                    * CASE e.side WHEN 1 THEN 1 ELSE e.price_before END END AS before) h
        GROUP BY 1, 2 HAVING sum(h.after - h.before) <> 0
    ), trades AS (
        SELECT e.trade, min(e.price) AS price, min(e.units) AS units,
            min(e.actor) FILTER (WHERE e.part = 1) AS actor,
            min(e.ledger_account) FILTER (WHERE e.side = 1) AS seller,
            min(e.ledger_account) FILTER (WHERE e.side = 0) AS buyer,
            min(e.cash_account) FILTER (WHERE e.side = 1) AS paid_to,
            min(e.cash_account) FILTER (WHERE e.side = 0) AS paid_by,
            (min(e.id::text) FILTER (WHERE e.side = 0))::uuid AS buy,
            (min(e.id::text) FILTER (WHERE e.side = 1))::uuid AS sell,
            (min(e.account::text) FILTER (WHERE e.side = 0))::uuid AS buyer_account,
            (min(e.account::text) FILTER (WHERE e.side = 1))::uuid AS seller_account,
            min(e.side) FILTER (WHERE e.part = 1) AS aggressor,
            max(e.number) AS event
        FROM events e WHERE e.kind = 'ORDER_TRADED' GROUP BY e.trade
    ), moves AS (
        -- A part of an order's units leaves the book, or rests in it.
        SELECT e.message, e.side, e.price_before AS price, e.step * 2 AS place,
            CASE e.kind WHEN 'ORDER_TRADED' THEN -e.units
                ELSE e.filled - e.quantity END AS delta
        FROM events e
        WHERE e.kind IN ('ORDER_TRADED', 'ORDER_CANCELLED', 'ORDER_EXPIRED')
            AND e.part = 0 AND NOT e.stops
        UNION ALL
        SELECT e.message, e.side, e.price_before, 0, e.filled_before - e.quantity_before
        FROM events e WHERE e.kind = 'ORDER_AMENDED'
        UNION ALL
        SELECT min(e.message) FILTER (WHERE e.step = e.came),
            min(e.side) FILTER (WHERE e.step = e.came),
            min(e.price) FILTER (WHERE e.step = e.came), max(e.step) * 2 + 1,
            min(e.quantity - e.filled) FILTER (WHERE e.step = e.came)
                - coalesce(sum(e.units) FILTER (WHERE e.part = 1), 0)
        FROM events e WHERE e.part = 1 OR e.step = e.came OR e.stops
        GROUP BY e.came HAVING NOT bool_or(e.stops)
    ), changes AS (
        SELECT c.*, lead(c.message) OVER (ORDER BY c.message, c.place)
                IS DISTINCT FROM c.message AS is_end
        FROM (
            SELECT m.message, m.side, m.price, min(m.place) AS place,
                sum(m.delta) AS delta,
                coalesce(min(b.quantity), 0) + sum(sum(m.delta)) OVER (
                    PARTITION BY m.side, m.price ORDER BY m.message) AS units
            FROM moves m LEFT JOIN marketdata_booklevel b ON b.token_id = of_token
                AND b.side = m.side AND b.price_cents = m.price
            GROUP BY m.message, m.side, m.price
        ) c WHERE c.delta <> 0 AND market.shows_book
    )
    SELECT k.wrong, h.accounts, h.units, h.heads, h.cents,
        c.sides, c.prices, c.units, c.ends,
        t.prices, t.units, t.actors, t.sellers, t.buyers, t.paid_to, t.paid_by, t.buys,
        t.sells, t.buyer_accounts, t.seller_accounts, t.aggressors, t.events
    INTO wrong, held_accounts, held_units, held_heads, held_cents,
        changed_sides, changed_prices, changed_units, changed_ends,
        fill_prices, fill_units, fill_actors, sellers, buyers, paid_to, paid_by, buys,
        sells, buyer_accounts, seller_accounts, aggressors, fill_events
    FROM (
        SELECT min(coalesce(e.id::text, '')) FILTER (WHERE (
            e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED',
                'ORDER_CANCELLED', 'ORDER_EXPIRED')
            AND (e.is_last OR e.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED'))
            AND (e.kind = 'ORDER_ACCEPTED')
                = (e.nth IS NOT NULL AND e.number = e.place)
            AND e.filled < e.quantity + (e.kind = 'ORDER_TRADED')::integer) IS NOT TRUE)
            AS wrong
        FROM events e
    ) k, (
        SELECT array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 1)
                AS accounts,
            array_agg(h.delta::numeric ORDER BY h.account) FILTER (WHERE h.side = 1)
                AS units,
            array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 0) AS heads,
            array_agg(h.delta::bigint ORDER BY h.account) FILTER (WHERE h.side = 0)
                AS cents
        FROM held h
    ) h, (
        SELECT coalesce(array_agg(c.side), '{}') AS sides, array_agg(c.price) AS prices,
            array_agg(c.units::bigint) AS units, array_agg(c.is_end) AS ends
        FROM (SELECT * FROM changes ORDER BY message, place) c
    ) c, (
        SELECT array_agg(t.price) AS prices, array_agg(t.units) AS units,
            array_agg(t.actor) AS actors, array_agg(t.seller) AS sellers,
            array_agg(t.buyer) AS buyers, array_agg(t.paid_to) AS paid_to,
            array_agg(t.paid_by) AS paid_by, array_agg(t.buy) AS buys,
            array_agg(t.sell) AS sells, array_agg(t.buyer_account) AS buyer_accounts,
            array_agg(t.seller_account) AS seller_accounts,
            array_agg(t.aggressor) AS aggressors, array_agg(t.event) AS events
        FROM (SELECT * FROM trades ORDER BY trade) t
    ) t;
    IF wrong IS NOT NULL OR cardinality(array_positions(kinds, 'ORDER_AMENDED')) > 0
        AND cardinality(new_orders) > 0 THEN
        RAISE EXCEPTION 'An order is taken once, and amended, filled or ended while it '
            'is OPEN: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    told := market.last_event + cardinality(kinds) + fills;
    IF market.fees_account_id IS NOT NULL THEN
        SELECT held_heads || c.heads, held_cents || c.cents, cardinality(c.trades),
            c.trades, c.sides, c.payers, c.nets, c.vats, c.actors
        INTO held_heads, held_cents, fees,
            fee_trades, fee_sides, fee_payers, fee_nets, fee_vats, fee_actors
        FROM trading_charge(of_token, market.last_event, judged_at) c;
    END IF;

    IF sellers IS NOT NULL THEN
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (sellers || buyers) ORDER BY a.id FOR SHARE;
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (paid_to || paid_by || held_heads
            || CASE WHEN fees > 0 THEN market.fees_account_id END)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    last := head.last_sequence + cardinality(changed_sides);
    IF last >= head.last_snapshot + 1000 THEN
        -- All snapshots of a deep book together are no larger than its log.
        is_snapshot := last >= head.last_snapshot + (
            SELECT count(*) FROM marketdata_booklevel b WHERE b.token_id = of_token);
    END IF;
    WITH c AS MATERIALIZED (
        SELECT head.last_sequence + c.place AS sequence, c.side, c.price, c.units, c.ends,
            lead(c.place) OVER (PARTITION BY c.side, c.price ORDER BY c.place) IS NULL
                AS is_last
        FROM unnest(changed_sides, changed_prices, changed_units, changed_ends)
            WITH ORDINALITY AS c (side, price, units, ends, place)
    ), t AS MATERIALIZED (
        SELECT head.last_trade + t.place AS sequence, t.price, t.units
        FROM unnest(fill_prices, fill_units) WITH ORDINALITY AS t (price, units, place)
    ), logged AS (
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT of_token, c.sequence, c.side, c.price, c.units, c.ends, book_at FROM c
    ), emptied AS (
        DELETE FROM marketdata_booklevel b USING c
        WHERE c.is_last AND c.units = 0 AND b.token_id = of_token AND b.side = c.side
            AND b.price_cents = c.price
    ), kept AS (
        INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
        SELECT of_token, c.side, c.price, c.units FROM c WHERE c.is_last AND c.units > 0
        ON CONFLICT (token_id, side, price_cents)
        DO UPDATE SET quantity = excluded.quantity
    ), taped AS (
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT of_token, t.sequence, t.price, t.units, book_at FROM t
    )
    UPDATE marketdata_orderbookhead h SET last_sequence = last,
        last_trade = h.last_trade + fills,
        last_snapshot = CASE WHEN is_snapshot THEN last ELSE h.last_snapshot END,
        last_at = book_at,
        fingerprint = h.fingerprint + coalesce((
            SELECT sum(('x' || left(md5(concat_ws(' ', 'change', c.sequence, c.side,
                c.price, c.units, c.ends, extract(epoch FROM book_at))), 16))::bit(64)
                ::bigint::numeric) FROM c), 0) + coalesce((
            SELECT sum(('x' || left(md5(concat_ws(' ', 'trade', t.sequence, t.price,
                t.units, extract(epoch FROM book_at))), 16))::bit(64)::bigint::numeric)
            FROM t), 0)
    WHERE h.token_id = of_token AND (last > head.last_sequence OR fills > 0);
    IF is_snapshot THEN
        INSERT INTO marketdata_booksnapshot (token_id, sequence, trade_sequence, at,
            fingerprint, bid_prices, bid_quantities, ask_prices, ask_quantities)
        SELECT h.token_id, h.last_sequence, h.last_trade, h.last_at, h.fingerprint,
            coalesce(l.bids, '{}'), coalesce(l.bid_units, '{}'),
            coalesce(l.asks, '{}'), coalesce(l.ask_units, '{}')
        FROM marketdata_orderbookhead h, (
            SELECT array_agg(b.price_cents ORDER BY b.price_cents DESC)
                    FILTER (WHERE b.side = 0) AS bids,
                array_agg(b.quantity ORDER BY b.price_cents DESC)
                    FILTER (WHERE b.side = 0) AS bid_units,
                array_agg(b.price_cents ORDER BY b.price_cents)
                    FILTER (WHERE b.side = 1) AS asks,
                array_agg(b.quantity ORDER BY b.price_cents)
                    FILTER (WHERE b.side = 1) AS ask_units
            FROM marketdata_booklevel b WHERE b.token_id = of_token
        ) l
        WHERE h.token_id = of_token;
    END IF;
    UPDATE trading_market SET last_event = told, last_at = judged_at,
        last_price = CASE fills WHEN 0 THEN market.last_price ELSE fill_prices[fills] END
        WHERE token_id = of_token;

    IF fills > 0 OR held_accounts IS NOT NULL THEN
        PERFORM FROM register_post(moved_at,
            array_fill(of_token, ARRAY[fills]), array_fill('TRADE'::text, ARRAY[fills]),
            coalesce(sellers, '{}'), coalesce(buyers, '{}'),
            coalesce(fill_units::numeric[], '{}'),
            array_fill(''::text, ARRAY[fills]), coalesce(fill_actors, '{}'),
            array_fill(NULL::uuid, ARRAY[fills]), array_fill(NULL::bigint, ARRAY[fills]),
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[of_token] ELSE '{}' END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[fill_prices[fills]] ELSE '{}'
                END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY['TRADE'] ELSE '{}' END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[fill_actors[fills]] ELSE '{}'
                END,
            array_fill(of_token, ARRAY[coalesce(cardinality(held_accounts), 0)]),
            coalesce(held_accounts, '{}'), coalesce(held_units, '{}'));
    END IF;
    IF fills > 0 OR held_heads IS NOT NULL THEN
        -- Fees are paid after all trades: from the proceeds, or from what was reserved.
        paid := cash_post(moved_at, array_fill('TRADE'::text, ARRAY[fills])
                || array_fill('FEE'::text, ARRAY[fees]),
            coalesce(paid_by, '{}') || fee_payers,
            coalesce(paid_to, '{}') || array_fill(market.fees_account_id, ARRAY[fees]),
            ARRAY(
                SELECT t.price * t.units FROM unnest(fill_prices, fill_units)
                    WITH ORDINALITY AS t (price, units, place) ORDER BY t.place)
                || ARRAY(
                SELECT f.net + f.vat FROM unnest(fee_nets, fee_vats)
                    WITH ORDINALITY AS f (net, vat, place) ORDER BY f.place),
            coalesce(fill_actors, '{}') || fee_actors,
            array_fill(''::text, ARRAY[fills + fees]),
            array_fill(NULL::text, ARRAY[fills + fees]),
            array_fill(NULL::bigint, ARRAY[fills + fees]),
            array_fill(NULL::bigint, ARRAY[fills + fees]),
            array_fill(NULL::uuid, ARRAY[fills + fees]),
            coalesce(held_heads, '{}'), coalesce(held_cents, '{}'));
    END IF;
    IF fees > 0 THEN
        INSERT INTO trading_executionfee (token_id, sequence, side, is_refund, net, vat,
            cash_transaction)
        SELECT of_token, f.trade, f.side, FALSE, f.net, f.vat, paid[fills + f.place]
        FROM unnest(fee_trades, fee_sides, fee_nets, fee_vats) WITH ORDINALITY
            AS f (trade, side, net, vat, place);
        paid := paid[1:fills];
    END IF;
    IF fills > 0 THEN
        INSERT INTO trading_execution (token_id, sequence, buy_order_id, sell_order_id,
            buyer_account_id, seller_account_id, price, quantity, aggressor, ledger_seq,
            cash_transaction, event, at)
        SELECT of_token, head.last_trade + x.place, x.buy, x.sell, x.buyer, x.seller,
            x.price, x.units, x.aggressor, entry + x.place, x.payment, x.event, judged_at
        FROM unnest(buys, sells, buyer_accounts, seller_accounts, fill_prices,
            fill_units, aggressors, paid, fill_events) WITH ORDINALITY AS x (buy, sell,
            buyer, seller, price, units, aggressor, payment, event, place);
        SELECT x.buy INTO wrong
        FROM unnest(buys, sells, fill_prices, aggressors)
            AS x (buy, sell, price, aggressor)
        LEFT JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.buy LIMIT 1) b ON TRUE
        LEFT JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.sell LIMIT 1) s ON TRUE
        WHERE (b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
                AND x.price <= b.limit_price AND x.price >= s.limit_price
                AND (b.priority > s.priority) = (x.aggressor = 0)
                AND (b.expires_at > judged_at) IS NOT FALSE
                AND (s.expires_at > judged_at) IS NOT FALSE) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A trade is of a buy and a sell order of two users that '
                'have not expired, at the price of the older and within the limit of '
                'the newer: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
        -- The fills of one order come by rising distance from the price before it.
        IF cardinality(new_orders) > 1 OR greatest(abs(fill_prices[1] - base_price),
                abs(fill_prices[fills] - base_price))
                > base_price * market.dynamic_band_bps / 10000
            OR greatest(abs(fill_prices[1] - market.reference_price),
                abs(fill_prices[fills] - market.reference_price))
                > market.reference_price * market.collar_bps / 10000 THEN
            SELECT x.taker INTO wrong FROM (
                SELECT t.*, first_value(t.before) OVER (
                    PARTITION BY t.taker ORDER BY t.place) AS base
                FROM (
                    SELECT u.price, u.place,
                        CASE u.aggressor WHEN 0 THEN u.buy ELSE u.sell END AS taker,
                        lag(u.price, 1, base_price) OVER (ORDER BY u.place) AS before
                    FROM unnest(fill_prices, buys, sells, aggressors) WITH ORDINALITY
                        AS u (price, buy, sell, aggressor, place)
                ) t
            ) x
            WHERE abs(x.price - x.base) > x.base * market.dynamic_band_bps / 10000
                OR abs(x.price - market.reference_price)
                    > market.reference_price * market.collar_bps / 10000
            LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'A trade is within the bands around the last price and '
                    'the reference price: %.', wrong
                    USING ERRCODE = 'restrict_violation';
            END IF;
        END IF;
    END IF;

    IF kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED'] THEN
        SELECT j.broken, j.id INTO rule, wrong FROM (
            SELECT o.id, CASE
                WHEN e.price % coalesce(market.tick_steps[
                    width_bucket(e.price, market.tick_floors)], market.tick_cents) <> 0
                    THEN 'tick'
                WHEN e.remaining % market.lot_units <> 0 THEN 'lot'
                WHEN market.phase = 'AT_LAST' AND e.price <> market.reference_price
                    THEN 'auction price'
                WHEN abs(e.price - market.reference_price)
                    > market.reference_price * market.collar_bps / 10000 THEN 'collar'
                WHEN e.price * e.quantity <= 0
                    OR e.price * e.quantity > market.most_value THEN 'value'
                WHEN e.quantity > market.most_units THEN 'volume'
                WHEN CASE WHEN e.kind = 'ORDER_AMENDED' THEN o.expires_at > judged_at
                    ELSE CASE o.time_in_force
                    WHEN 'DAY' THEN o.expires_at
                        = coalesce(market.session_ends_at, market.next_phase_at)
                    WHEN 'GTC' THEN o.expires_at = judged_at + interval '2160 hours'
                    WHEN 'GTD' THEN o.expires_at > judged_at
                        AND o.expires_at <= judged_at + interval '2160 hours'
                    ELSE o.expires_at IS NULL END END IS NOT TRUE THEN 'expiry'
                WHEN o.time_in_force = 'FOK' AND o.filled NOT IN (0, o.quantity)
                    THEN 'fill or kill'
                WHEN a.status <> 'ACTIVE' THEN 'account'
                WHEN p.login <> e.actor THEN 'who asked'
                WHEN EXISTS (SELECT FROM trading_orderblock b
                    WHERE b.released_at IS NULL
                        AND (b.partner_id = o.partner_id OR b.partner_id IS NULL)
                        AND (b.account_id = o.account_id OR b.account_id IS NULL)
                        AND (b.token_id = of_token OR b.token_id IS NULL))
                    THEN 'blocks'
                WHEN o.status = 'OPEN' AND o.account_id IN (
                    SELECT x.account_id FROM trading_order x
                    WHERE x.account_id = ANY (accounts) AND x.token_id = of_token
                        AND x.status = 'OPEN'
                    GROUP BY x.account_id HAVING count(*) > 1000)
                    THEN 'open orders' END AS broken
            FROM trading_orderevent e
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
            CROSS JOIN LATERAL (
                SELECT x.status FROM accounts_account x
                WHERE x.id = o.account_id LIMIT 1) a
            CROSS JOIN LATERAL (
                SELECT x.login FROM accounts_partner x
                WHERE x.id = o.partner_id LIMIT 1) p
            WHERE e.token_id = of_token AND e.number > market.last_event
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
        ) j WHERE j.broken IS NOT NULL LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'The order breaks the rule of %: %.', rule, wrong
                USING ERRCODE = 'restrict_violation';
        END IF;
        IF NOT within_limits OR EXISTS (
            SELECT FROM accounts_partner p
            WHERE p.id = ANY (limited)
                AND (cardinality(new_orders) > 0 AND p.orders_per_second < (
                        SELECT count(*) FROM trading_order o WHERE o.partner_id = p.id
                            AND o.created_at > judged_at - interval '1 second')
                    OR p.open_value_limit < (
                        SELECT sum((o.quantity - o.filled)::numeric * o.limit_price)
                        FROM trading_order o
                        WHERE o.partner_id = p.id AND o.status = 'OPEN'))) THEN
            RAISE EXCEPTION 'Orders of a partner that has limits are judged by these, '
                'one after the other: %.', limited USING ERRCODE = 'lock_not_available';
        END IF;
        IF market.phase <> 'CALL' THEN
            PERFORM trading_judge_priority(of_token, market.last_event, head.last_trade,
                judged_at);
        END IF;
        IF EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = of_token AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL) THEN
            PERFORM trading_judge_holders(of_token, market.last_event, judged_at);
        END IF;
    END IF;
    IF kinds && ARRAY['ORDER_CANCELLED', 'ORDER_EXPIRED'] THEN
        PERFORM trading_judge_endings(of_token, market.last_event, judged_at);
    END IF;
    -- A call that takes or amends orders is its transaction's last; of calls that end
    -- orders others may follow, on other markets.
    IF cardinality(new_orders) > 0 THEN
        PERFORM accounts_count(array_agg(c.list), array_agg(c.key), array_agg(c.number),
            last => TRUE)
        FROM (
            SELECT 'orders'::text AS list, o.partner_id AS key, count(*) AS number
            FROM trading_order o WHERE o.id = ANY (new_orders) GROUP BY o.partner_id
            UNION ALL
            SELECT 'accountOrders', u.account, count(*) FROM unnest(accounts) AS u (account)
            GROUP BY u.account
        ) c;
    END IF;
    PERFORM events_write(NULL, array_agg(e.partner_id), array_agg(e.kind::text),
        array_agg(e.order_id), NULL, array_agg(of_token), array_agg(e.account_id), NULL,
        array_agg(e.number), array_agg(e.price), array_agg(e.quantity),
        array_agg(e.remaining), array_agg(e.trade),
        array_agg(CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
            THEN e.reason END),
        last => kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED'] AND NOT interrupts)
    FROM (
        SELECT e.*, o.partner_id, o.account_id
        FROM trading_orderevent e JOIN trading_order o ON o.id = e.order_id
        WHERE e.token_id = of_token AND e.number > market.last_event ORDER BY e.number
    ) e;
    IF interrupts THEN
        PERFORM trading_interrupt(of_token, market.last_event, base_price, judged_at);
    END IF;
    RETURN QUERY SELECT told + interrupts::integer, last, head.last_trade + fills,
        entry + fills, paid;
END $$;
REVOKE ALL ON FUNCTION public.trading_write(uuid, timestamp with time zone, text[], uuid[], integer[], bigint[], bigint[], text[], text[], boolean, uuid[], uuid[], smallint[], text[], timestamp with time zone[], text[]) FROM PUBLIC;

CREATE OR REPLACE VIEW public.trading_fill AS
SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 0))::uuid AS id, e.token_id, e.sequence, 0::smallint AS side, e.buy_order_id AS order_id, e.buyer_account_id AS account_id, e.price, e.quantity, e.price * e.quantity AS value, CASE WHEN e.aggressor IS NULL THEN 'AUCTION'::text WHEN e.aggressor = 0 THEN 'TAKER'::text ELSE 'MAKER'::text END AS liquidity, e.ledger_seq, e.at, ( SELECT b.at FROM trading_bust b WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at, ( SELECT COALESCE(sum(f.net), 0::numeric)::bigint AS "coalesce" FROM trading_executionfee f WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 0) AS fee_net, ( SELECT COALESCE(sum(f.vat), 0::numeric)::bigint AS "coalesce" FROM trading_executionfee f WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 0) AS fee_vat FROM trading_execution e UNION ALL SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 1))::uuid AS id, e.token_id, e.sequence, 1::smallint AS side, e.sell_order_id AS order_id, e.seller_account_id AS account_id, e.price, e.quantity, e.price * e.quantity AS value, CASE WHEN e.aggressor IS NULL THEN 'AUCTION'::text WHEN e.aggressor = 1 THEN 'TAKER'::text ELSE 'MAKER'::text END AS liquidity, e.ledger_seq, e.at, ( SELECT b.at FROM trading_bust b WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at, ( SELECT COALESCE(sum(f.net), 0::numeric)::bigint AS "coalesce" FROM trading_executionfee f WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 1) AS fee_net, ( SELECT COALESCE(sum(f.vat), 0::numeric)::bigint AS "coalesce" FROM trading_executionfee f WHERE f.token_id = e.token_id AND f.sequence = e.sequence AND f.side = 1) AS fee_vat FROM trading_execution e;
"""

BACKWARD = r"""
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
BEGIN
    PERFORM accounts_read_committed();
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CONTINUOUS', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CONTINUOUS', 'CLOSED') END, FALSE) THEN
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
    IF changed_by = 'market' THEN
        IF (market.next_phase = wanted AND market.next_phase_at <= changed_at)
            IS NOT TRUE THEN
            RAISE EXCEPTION 'A market enters its next phase by the clock, once that is '
                'due: it is not %.', wanted USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF used IS NULL THEN
        PERFORM accounts_staff_with(changed_by, 'trading.change_market');
    ELSE
        PERFORM cash_judge_staff(changed_by, used, '{}');
    END IF;
    refers_to := coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = token),
        market.reference_price);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to USING ERRCODE = 'restrict_violation';
    END IF;
    follows := NULL;
    follows_at := NULL;
    IF wanted <> 'HALTED' THEN
        SELECT min(s.opens) FILTER (WHERE s.opens >= changed_at),
            min(s.closes) FILTER (WHERE s.closes > changed_at)
        INTO opens_at, closes_at
        FROM (SELECT (changed_at AT TIME ZONE market_time_zone())::date + n AS day
              FROM generate_series(0, 4) AS n) d
        CROSS JOIN LATERAL (SELECT
            (d.day + market.session_opens) AT TIME ZONE market_time_zone() AS opens,
            (d.day + market.session_closes) AT TIME ZONE market_time_zone() AS closes
        ) s
        WHERE NOT (market.weekdays_only AND extract(isodow FROM d.day) > 5);
        IF (wanted = 'CONTINUOUS' OR changed_by = 'market')
            AND (market.session_opens = market.session_closes OR opens_at = changed_at
                OR closes_at < opens_at) THEN
            opens_at := changed_at;
        END IF;
        IF wanted = 'CONTINUOUS' AND opens_at > changed_at THEN
            RAISE EXCEPTION 'A market is CONTINUOUS in its session, which begins at %.',
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        IF wanted = 'CONTINUOUS' THEN
            follows := 'CLOSED';
            follows_at := closes_at;
        ELSE
            follows := 'CONTINUOUS';
            follows_at := opens_at;
        END IF;
    END IF;
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
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
    -- One of the market's log: a transaction may have several.
    PERFORM events_write(ARRAY['ALL'], NULL, ARRAY['MARKET_PHASE_CHANGED'],
        ARRAY[token], NULL, ARRAY[token], NULL,
        order_events => ARRAY[market.last_event], reasons => ARRAY[wanted]);
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;

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

CREATE OR REPLACE FUNCTION public.trading_fire(of_partner uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    UPDATE trading_canceltimer t SET fires_at = NULL, fired_at = clock_timestamp()
    WHERE t.partner_id = of_partner AND t.fires_at <= clock_timestamp();
    RETURN FOUND;
END $$;
REVOKE ALL ON FUNCTION public.trading_fire(uuid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_book(of_token uuid, sides smallint[], prices bigint[], since_trade bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    SELECT format('token %s, side %s, %s cents', of_token, c.side, c.price) INTO wrong
    FROM (SELECT DISTINCT c.side, c.price FROM unnest(sides, prices) AS c (side, price)) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = of_token AND o.side = c.side AND o.limit_price = c.price
            AND o.status = 'OPEN'
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = of_token
            AND b.side = c.side AND b.price_cents = c.price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; nothing else feeds an internal '
            'market: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT format('trade %s of token %s', t.sequence, of_token) INTO wrong
    FROM marketdata_trade t
    LEFT JOIN trading_execution x
        ON x.token_id = of_token AND x.sequence = t.sequence
    WHERE t.token_id = of_token AND t.sequence > since_trade
        AND (x.price = t.price_cents AND x.quantity = t.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of an internal market holds its executions and nothing '
            'else: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_book(uuid, smallint[], bigint[], bigint) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_endings(of_token uuid, since_event bigint, judged_at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong text;
BEGIN
    SELECT format('%s of order %s', e.reason, o.id) INTO wrong
    FROM trading_orderevent e
    CROSS JOIN LATERAL (
        SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
    CROSS JOIN LATERAL (
        SELECT x.login FROM accounts_partner x WHERE x.id = o.partner_id LIMIT 1) p
    LEFT JOIN LATERAL (
        -- The order that it met: of those that came, the next one.
        SELECT t.ledger_account_id AS account, t.quantity FROM trading_orderevent n
        JOIN trading_order t ON t.id = n.order_id
        WHERE e.reason = 'NOT_ELIGIBLE' AND n.token_id = of_token AND n.number > e.number
            AND n.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
        ORDER BY n.number LIMIT 1
    ) t ON TRUE
    WHERE e.token_id = of_token AND e.number > since_event
        AND e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
        AND CASE e.reason
        WHEN 'END_OF_SESSION' THEN e.kind = 'ORDER_EXPIRED' AND e.actor = 'market'
            AND o.time_in_force = 'DAY' AND o.expires_at <= judged_at
        WHEN 'TIME_IN_FORCE' THEN e.kind = 'ORDER_EXPIRED' AND e.actor = 'market'
            AND o.time_in_force <> 'DAY' AND o.expires_at <= judged_at
        WHEN 'BY_PARTNER' THEN e.actor = p.login
        WHEN 'CANCEL_TIMER' THEN e.actor = 'market' AND EXISTS (
            SELECT FROM trading_canceltimer x WHERE x.partner_id = o.partner_id
                AND x.fired_at >= transaction_timestamp())
        WHEN 'BY_STAFF' THEN
            accounts_staff_with(e.actor, 'trading.change_market') IS NOT NULL
        WHEN 'IMMEDIATE_OR_CANCEL' THEN e.actor = p.login AND o.time_in_force = 'IOC'
            AND o.created_at = judged_at
        WHEN 'FILL_OR_KILL' THEN e.actor = p.login AND o.time_in_force = 'FOK'
            AND o.filled = 0 AND NOT trading_could_fill(of_token, o.id, e.number,
                since_event, judged_at)
        WHEN 'SELF_TRADE' THEN e.actor = p.login AND EXISTS (
            SELECT FROM trading_orderevent n WHERE n.token_id = of_token
                AND n.number > since_event AND n.order_id = o.id
                AND n.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
            AND EXISTS (
            SELECT FROM trading_order q WHERE q.user_id = o.user_id
                AND q.token_id = of_token AND q.side <> o.side
                AND CASE o.side WHEN 0 THEN q.limit_price <= o.limit_price
                    ELSE q.limit_price >= o.limit_price END
                AND q.priority < e.number AND (q.status = 'OPEN' OR EXISTS (
                    SELECT FROM trading_orderevent n WHERE n.token_id = of_token
                        AND n.number > e.number AND n.order_id = q.id)))
        WHEN 'ACCOUNT_NOT_ACTIVE' THEN (SELECT a.status <> 'ACTIVE'
            FROM accounts_account a WHERE a.id = o.account_id)
        ELSE EXISTS (
            SELECT FROM register_standing(of_token, ARRAY[o.ledger_account_id],
                judged_at, FALSE) s
            CROSS JOIN issuers_tokenledgerhead h
            LEFT JOIN issuers_holderbalance b ON b.token_id = of_token
                AND b.account_id = o.ledger_account_id
            WHERE h.token_id = of_token AND CASE e.reason
                WHEN 'HOLDER_FROZEN' THEN TRUE
                WHEN 'NOT_ELIGIBLE' THEN t.account IS NULL
                WHEN 'UNITS_LOCKED' THEN o.side = 1 AND s.locked > 0
                WHEN 'RULE_CHANGED' THEN TRUE END
                AND (e.reason = 'UNITS_LOCKED'
                    OR CASE o.side WHEN 0 THEN s.receiving ELSE s.sending END <> '[]'
                    OR e.reason = 'RULE_CHANGED' AND EXISTS (
                        SELECT FROM register_judge(of_token, 'TRADE',
                            CASE o.side WHEN 1 THEN o.ledger_account_id END,
                            CASE o.side WHEN 0 THEN o.ledger_account_id END,
                            o.quantity - o.filled, judged_at, FALSE,
                            coalesce(b.balance, 0), 0, coalesce(b.balance, 0), h.supply,
                            h.holder_count, h.holder_count
                                + (o.side = 0 AND coalesce(b.balance, 0) = 0)::integer)))
            UNION ALL
            SELECT FROM issuers_tokenledgerhead h
            CROSS JOIN LATERAL (SELECT
                CASE o.side WHEN 1 THEN o.ledger_account_id ELSE t.account END AS gives,
                CASE o.side WHEN 0 THEN o.ledger_account_id ELSE t.account END AS takes
            ) m
            CROSS JOIN LATERAL (
                -- In the call a holder may have had less to give, and more.
                SELECT coalesce(min(b.balance) FILTER (WHERE b.account_id = m.gives), 0)
                        AS given,
                    coalesce(min(b.balance) FILTER (WHERE b.account_id = m.takes), 0)
                        AS taken
                FROM issuers_holderbalance b WHERE b.token_id = of_token
                    AND b.account_id IN (m.gives, m.takes)
            ) b
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(l.amount) FILTER (WHERE l.source_id = m.takes), 0)
                        AS gave,
                    coalesce(sum(l.amount) FILTER (WHERE l.target_id = m.gives), 0)
                        AS took
                FROM trading_execution x JOIN issuers_ledgertransaction l
                    ON l.token_id = of_token AND l.seq = x.ledger_seq
                WHERE x.token_id = of_token AND x.event > since_event
                    AND x.at = judged_at
            ) c
            WHERE e.reason = 'NOT_ELIGIBLE' AND t.account IS NOT NULL
                AND h.token_id = of_token AND EXISTS (
                SELECT FROM register_judge(of_token, 'TRADE', m.gives, m.takes,
                    least(o.quantity - o.filled, t.quantity), judged_at, FALSE,
                    b.given - c.took, 0, b.taken + c.gave, h.supply, h.holder_count,
                    h.holder_count + 1)))
        END IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order ends for a reason that is so, and by its partner, by '
            'staff or by the clock: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
END $$;
REVOKE ALL ON FUNCTION public.trading_judge_endings(uuid, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_judge_priority(of_token uuid, since_event bigint, since_trade bigint, judged_at timestamp with time zone)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_column
DECLARE
    wrong uuid;
BEGIN
    WITH events AS MATERIALIZED (
        SELECT e.* FROM trading_orderevent e
        WHERE e.token_id = of_token AND e.number > since_event
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
        LEFT JOIN events s ON s.order_id = e.order_id
            AND s.reason IN ('FILL_OR_KILL', 'SELF_TRADE')
        CROSS JOIN LATERAL (SELECT s.number IS NULL
            AND e.remaining > coalesce(f.units, 0) AS rests) r
        WHERE e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
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
        SELECT t.order_id FROM taken t JOIN (
            SELECT m.side, m.price, m.priority, m.came FROM met m
            UNION ALL
            SELECT o.side, CASE o.side WHEN 1 THEN o.limit_price ELSE -o.limit_price END,
                o.priority, e.number
            FROM events e
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
            WHERE e.kind = 'ORDER_CANCELLED' AND e.reason = 'NOT_ELIGIBLE'
        ) m ON m.side <> t.side AND m.came > t.number AND m.priority < t.number
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
REVOKE ALL ON FUNCTION public.trading_judge_priority(uuid, bigint, bigint, timestamp with time zone) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_keep_refused(ids uuid[], partners uuid[], times timestamp with time zone[], codes text[], numbers bigint[], messages text[], accounts uuid[], tokens uuid[], orders uuid[], sides smallint[], quantities numeric[], limits numeric[], times_in_force text[], client_order_ids text[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO trading_refusedorder (id, partner_id, at, code, number, message,
        account_id, token_id, order_id, side, quantity, limit_price, time_in_force,
        client_order_id)
    SELECT n.* FROM unnest(ids, partners, times, codes, numbers, messages, accounts,
        tokens, orders, sides, quantities, limits, times_in_force, client_order_ids)
        AS n (id, partner, at, code, number, message, account)
    WHERE n.account IS NOT NULL
    ON CONFLICT (id) DO NOTHING;
    INSERT INTO trading_refusedorder AS r (id, partner_id, at, code, number)
    SELECT n.id, n.partner, n.at, n.code, n.number
    FROM unnest(ids, partners, times, codes, numbers, accounts)
        AS n (id, partner, at, code, number, account)
    WHERE n.account IS NULL
    ORDER BY n.partner, n.at, n.code
    ON CONFLICT (partner_id, at, code) WHERE account_id IS NULL
        DO UPDATE SET number = r.number + excluded.number;
END $$;
REVOKE ALL ON FUNCTION public.trading_keep_refused(uuid[], uuid[], timestamp with time zone[], text[], bigint[], text[], uuid[], uuid[], uuid[], smallint[], numeric[], numeric[], text[], text[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_open(token uuid, opens time without time zone, closes time without time zone, weekdays boolean, begins timestamp with time zone, tick bigint, lot bigint, collar integer, reference bigint, opened_by text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    head marketdata_orderbookhead;
    sides smallint[];
    prices bigint[];
    empty bigint[];
    ends boolean[];
    opened_at timestamptz;
BEGIN
    PERFORM accounts_read_committed();
    PERFORM accounts_staff_with(opened_by, 'trading.change_market');
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF head.source IS DISTINCT FROM 'EXTERNAL' THEN
        RAISE EXCEPTION 'A market opens once, on a token that has an order book.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(token, head.last_sequence, sides, prices, empty,
            ends, '{}', '{}', FALSE);
    END IF;
    opened_at := clock_timestamp();
    UPDATE marketdata_orderbookhead SET source = 'OWN' WHERE token_id = token;
    INSERT INTO trading_market (token_id, phase, phase_since, next_phase, next_phase_at,
        session_opens, session_closes, weekdays_only, tick_cents, lot_units, collar_bps,
        reference_price, last_event, last_phase_event, last_at, halt_reason)
    VALUES (token, 'CLOSED', opened_at, 'CONTINUOUS', begins, opens, closes, weekdays,
        tick, lot, collar, reference, 1, 1, opened_at, '');
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, 1, 'PHASE_CHANGED', reference, 'CLOSED', '', opened_by, opened_at);
END $$;
REVOKE ALL ON FUNCTION public.trading_open(uuid, time without time zone, time without time zone, boolean, timestamp with time zone, bigint, bigint, integer, bigint, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_read(of_token uuid, accounts uuid[], sides smallint[], prices bigint[], client_ids text[], bid bigint, ask bigint, most integer, buys_wanted numeric, sells_wanted numeric, own uuid[], most_open integer, holds boolean)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
SET plan_cache_mode = 'force_generic_plan'
AS $$
#variable_conflict use_variable
DECLARE
    last timestamptz;
    clock timestamptz;
    judged_at timestamptz;
    head json;
    makers json;
    clients json;
    own_orders json;
    ends json;
    holders bigint[];
    heads bigint[];
    users uuid[];
    is_bound boolean;
BEGIN
    IF holds THEN
        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed since, '
            'such as a freeze.' USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM FROM marketdata_orderbookhead h
            WHERE h.token_id = of_token FOR NO KEY UPDATE;
        PERFORM register_mark(ARRAY[of_token]);
        SELECT greatest(h.last_effective_at, h.last_price_at) INTO last
        FROM issuers_tokenledgerhead h WHERE h.token_id = of_token FOR UPDATE;
        WHILE last > clock_timestamp()
            AND last <= clock_timestamp() + interval '1 second'
        LOOP
            PERFORM pg_sleep(extract(epoch FROM last - clock_timestamp()));
        END LOOP;
    END IF;
    clock := clock_timestamp();
    IF holds THEN
        -- A block of orders waits until the transaction has ended. Rows that it locked
        -- instead would be written for every order, and many orders could starve it.
        PERFORM pg_advisory_xact_lock_shared(
            hashtextextended('orders of partner' || p.partner_id, 0))
        FROM (SELECT DISTINCT a.partner_id FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.partner_id) p;
        PERFORM FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
    END IF;
    SELECT json_build_array(h.source, h.last_sequence, h.last_snapshot, h.last_trade,
            m.phase, m.next_phase, m.next_phase_at, m.session_opens, m.session_closes,
            m.weekdays_only, m.tick_cents, m.lot_units, m.collar_bps, m.reference_price,
            m.last_event, m.last_at, t.symbol, t.issuer_id, t.created_at,
            t.authorized_units, l.last_seq, l.last_price, l.supply, l.held,
            l.holder_count, l.price_cents, l.is_open,
            greatest(l.last_effective_at, l.last_price_at),
            CASE WHEN holds THEN clock ELSE greatest(
                clock, l.last_effective_at, l.last_price_at) END),
        greatest(m.last_at, CASE WHEN holds THEN clock ELSE greatest(
            clock, l.last_effective_at, l.last_price_at) END)
    INTO head, judged_at
    FROM marketdata_orderbookhead h
    JOIN trading_market m ON m.token_id = h.token_id
    JOIN issuers_tokenledgerhead l ON l.token_id = h.token_id
    JOIN issuers_token t ON t.id = h.token_id
    WHERE h.token_id = of_token AND h.source = 'OWN';
    IF head IS NULL THEN
        RETURN NULL;
    END IF;
    WITH found AS MATERIALIZED (
        (SELECT o.* FROM trading_order o
        WHERE o.token_id = of_token AND o.side = 1 AND o.status = 'OPEN'
            AND o.limit_price <= bid
        ORDER BY o.limit_price, o.priority LIMIT most)
        UNION ALL
        (SELECT o.* FROM trading_order o
        WHERE o.token_id = of_token AND o.side = 0 AND o.status = 'OPEN'
            AND o.limit_price >= ask
        ORDER BY o.limit_price DESC, o.priority LIMIT most)
    ), ranked AS MATERIALIZED (
        SELECT f.*, row_number() OVER by_place AS place,
            coalesce(sum(CASE WHEN f.expires_at <= judged_at THEN 0
                ELSE f.quantity - f.filled END) OVER (by_place ROWS BETWEEN UNBOUNDED
                PRECEDING AND 1 PRECEDING), 0)
                < CASE f.side WHEN 0 THEN buys_wanted ELSE sells_wanted END AS is_reached
        FROM found f
        WINDOW by_place AS (PARTITION BY f.side ORDER BY
            CASE f.side WHEN 1 THEN f.limit_price ELSE -f.limit_price END, f.priority)
    ), met AS MATERIALIZED (
        SELECT r.* FROM ranked r WHERE r.is_reached OR r.expires_at <= judged_at
    )
    SELECT json_agg(json_build_array(r.id, r.token_id, r.account_id, r.user_id,
            r.ledger_account_id, r.cash_account_id, r.partner_id, r.side, r.limit_price,
            r.quantity, r.filled, r.filled_value, r.time_in_force, r.expires_at,
            r.status, r.status_reason, r.priority, r.version, r.last_event,
            r.client_order_id, r.created_at, r.updated_at) ORDER BY r.side, r.place),
        array_agg(r.ledger_account_id), array_agg(r.cash_account_id),
        (SELECT json_object_agg(x.side, x.price) FROM (
            SELECT s.side, coalesce(
                min(s.limit_price) FILTER (WHERE NOT s.is_reached AND s.side = 1),
                max(s.limit_price) FILTER (WHERE NOT s.is_reached AND s.side = 0),
                CASE WHEN count(*) = most THEN CASE s.side
                    WHEN 1 THEN max(s.limit_price) ELSE min(s.limit_price) END END)
                AS price
            FROM ranked s GROUP BY s.side) x)
    INTO makers, holders, heads, ends FROM met r;
    SELECT json_agg(json_build_array(a.id, a.user_id, a.partner_id,
            CASE WHEN a.status = 'ACTIVE' AND a.updated_at > judged_at THEN coalesce((
                SELECT h.status FROM accounts_accountstatuschange h
                WHERE h.account_id = a.id AND h.created_at <= judged_at
                ORDER BY h.number DESC LIMIT 1), 'PENDING') ELSE a.status END,
            CASE WHEN holds THEN l.id ELSE coalesce(l.id, 0) END, c.id)),
        array_agg(a.user_id) FILTER (WHERE l.id IS NULL),
        coalesce(holders, '{}') || array_agg(l.id),
        coalesce(heads, '{}') || array_agg(c.id)
    INTO clients, users, holders, heads
    FROM accounts_account a
    LEFT JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
    JOIN accounts_cashaccount c ON c.account_id = a.id
    WHERE a.id = ANY (accounts);
    IF holds THEN
        IF users IS NOT NULL THEN
            RETURN json_build_object('missing', users);
        END IF;
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (holders) ORDER BY a.id FOR SHARE;
        PERFORM FROM accounts_cashhead h
            WHERE h.cash_account_id = ANY (heads)
            ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    END IF;
    is_bound := EXISTS (SELECT FROM issuers_tokenrule r
            WHERE r.token_id = of_token AND r.ended_at IS NULL)
        OR EXISTS (SELECT FROM issuers_restriction r
            WHERE r.ledger_account_id = ANY (holders)
                AND (r.ended_at IS NULL OR r.ended_at >= transaction_timestamp()));
    IF cardinality(own) > 0 THEN
        SELECT json_agg(json_build_array(r.id, r.token_id, r.account_id, r.user_id,
            r.ledger_account_id, r.cash_account_id, r.partner_id, r.side, r.limit_price,
            r.quantity, r.filled, r.filled_value, r.time_in_force, r.expires_at,
            r.status, r.status_reason, r.priority, r.version, r.last_event,
            r.client_order_id, r.created_at, r.updated_at) ORDER BY r.priority)
        INTO own_orders FROM trading_order r
        WHERE r.id = ANY (own) AND r.token_id = of_token;
    END IF;
    RETURN json_build_object(
        'head', head, 'makers', coalesce(makers, '[]'), 'ends', coalesce(ends, '{}'),
        'clients', coalesce(clients, '[]'), 'own', coalesce(own_orders, '[]'),
        'blocked', CASE WHEN EXISTS (
            SELECT FROM trading_orderblock b WHERE b.released_at IS NULL) THEN (
            SELECT json_agg(a.id) FROM accounts_account a
            WHERE a.id = ANY (accounts) AND EXISTS (
                SELECT FROM trading_orderblock b WHERE b.released_at IS NULL
                    AND (b.partner_id = a.partner_id OR b.partner_id IS NULL)
                    AND (b.account_id = a.id OR b.account_id IS NULL)
                    AND (b.token_id = of_token OR b.token_id IS NULL))) END,
        'units', (
            SELECT json_agg(json_build_array(u.account, coalesce(b.balance, 0),
                coalesce(b.reserved, 0)))
            FROM (SELECT DISTINCT unnest(holders) AS account) u
            LEFT JOIN issuers_holderbalance b
                ON b.token_id = of_token AND b.account_id = u.account),
        'standings', CASE WHEN is_bound THEN (
            SELECT json_agg(json_build_array(coalesce(s.account, 0), s.is_paused,
                s.sending::text, s.receiving::text, s.locked, s.locked_until, s.most_units,
                s.most_bps, s.most_holders))
            FROM register_standing(of_token,
                ARRAY(SELECT DISTINCT unnest(array_remove(holders, NULL))),
                judged_at, FALSE, users[1]) s) END,
        'cash', (
            SELECT json_agg(json_build_array(h.cash_account_id, h.balance, h.reserved))
            FROM accounts_cashhead h WHERE h.cash_account_id = ANY (heads)),
        'levels', (
            SELECT json_agg(json_build_array(b.side, b.price_cents, b.quantity))
            FROM (SELECT DISTINCT w.side, w.price
                FROM unnest(sides, prices) AS w (side, price)) w
            JOIN marketdata_booklevel b ON b.token_id = of_token AND b.side = w.side
                AND b.price_cents = w.price),
        'used', (
            SELECT json_agg(json_build_array(o.account_id, o.client_order_id, o.id))
            FROM unnest(accounts, client_ids) AS w (account, client_id)
            JOIN trading_order o
                ON o.account_id = w.account AND o.client_order_id = w.client_id
            WHERE w.client_id IS NOT NULL),
        'open', (
            SELECT json_agg(json_build_array(w.account, (SELECT count(*) FROM (
                SELECT FROM trading_order o WHERE o.account_id = w.account
                    AND o.token_id = of_token AND o.status = 'OPEN'
                LIMIT most_open) o)))
            FROM (SELECT DISTINCT unnest(accounts) AS account) w));
END $$;
REVOKE ALL ON FUNCTION public.trading_read(uuid, uuid[], smallint[], bigint[], text[], bigint, bigint, integer, numeric, numeric, uuid[], integer, boolean) FROM PUBLIC;

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
        WHERE h.cash_account_id IN (buy.cash_account_id, sell.cash_account_id)
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
    payment := (cash_post(moved_at, ARRAY['REVERSAL'], ARRAY[sell.cash_account_id],
        ARRAY[buy.cash_account_id], ARRAY[trade.price * trade.quantity],
        ARRAY[requested_by], ARRAY[why], ARRAY[NULL::text],
        ARRAY[trade.cash_transaction], ARRAY[NULL::bigint], ARRAY[NULL::uuid],
        '{}', '{}'))[1];
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
    UPDATE trading_market m SET last_event = event + 1, last_at = at
        WHERE m.token_id = of_token;
    PERFORM events_write(NULL, ARRAY[buy.partner_id, sell.partner_id],
        ARRAY['TRADE_BUSTED', 'TRADE_BUSTED'], ARRAY[buy.id, sell.id], NULL,
        ARRAY[of_token, of_token], ARRAY[buy.account_id, sell.account_id], NULL,
        ARRAY[event, event + 1], ARRAY[trade.price, trade.price],
        ARRAY[trade.quantity, trade.quantity], NULL, ARRAY[of_trade, of_trade]);
    RETURN NEXT;
END $$;
REVOKE ALL ON FUNCTION public.trading_undo(uuid, bigint, text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_write(of_token uuid, judged_at timestamp with time zone, kinds text[], orders uuid[], messages integer[], units bigint[], limits bigint[], reasons text[], actors text[], is_priced boolean, new_orders uuid[], accounts uuid[], sides smallint[], in_force text[], expiries timestamp with time zone[], client_ids text[])
RETURNS TABLE(last_event bigint, last_change bigint, last_trade bigint, last_entry bigint, payments bigint[]) LANGUAGE plpgsql SECURITY DEFINER
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
    entry bigint;
    book_at timestamptz;
    moved_at timestamptz;
    wrong text;
    rule text;
    told bigint;
    changed_sides smallint[];
    changed_prices bigint[];
    changed_units bigint[];
    changed_ends boolean[];
    fill_prices bigint[];
    fill_units bigint[];
    fill_actors text[];
    sellers bigint[];
    buyers bigint[];
    paid_to bigint[];
    paid_by bigint[];
    buys uuid[];
    sells uuid[];
    buyer_accounts uuid[];
    seller_accounts uuid[];
    aggressors smallint[];
    fill_events bigint[];
    held_accounts bigint[];
    held_units numeric[];
    held_heads bigint[];
    held_cents bigint[];
    paid bigint[] := ARRAY[]::bigint[];
    fills integer;
    is_snapshot boolean := FALSE;
    last bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
    IF cardinality(kinds) NOT BETWEEN 1 AND 5000 THEN
        RAISE EXCEPTION 'A call has 1 to 5,000 steps.' USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = of_token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = of_token;
    IF (head.source = 'OWN' AND judged_at >= market.last_at
        AND judged_at >= transaction_timestamp()
        AND judged_at <= greatest(market.last_at, clock_timestamp())) IS NOT TRUE THEN
        RAISE EXCEPTION 'Orders are of an internal market, and judged in the '
            'transaction that writes them: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (market.phase = 'CONTINUOUS' AND (market.next_phase_at > judged_at) IS NOT FALSE)
        IS NOT TRUE AND kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED',
            'ORDER_TRADED'] THEN
        RAISE EXCEPTION 'Orders are taken while the market is CONTINUOUS: %.', of_token
            USING ERRCODE = 'restrict_violation';
    END IF;
    SELECT h.last_seq INTO entry FROM issuers_tokenledgerhead h
        WHERE h.token_id = of_token FOR UPDATE;
    -- A call that skips trading_read, too, keeps a block of orders waiting.
    PERFORM pg_advisory_xact_lock_shared(
        hashtextextended('orders of partner' || p.partner_id, 0))
    FROM (SELECT a.partner_id FROM accounts_account a WHERE a.id = ANY (accounts)
        UNION SELECT o.partner_id FROM unnest(kinds, orders) AS s (kind, id)
        JOIN trading_order o ON o.id = s.id WHERE s.kind = 'ORDER_AMENDED'
        ORDER BY partner_id) p;
    IF cardinality(accounts) > 0 THEN
        PERFORM FROM accounts_account a
            WHERE a.id = ANY (accounts) ORDER BY a.id FOR SHARE;
    END IF;
    fills := cardinality(array_positions(kinds, 'ORDER_TRADED'));
    moved_at := least(judged_at, clock_timestamp());
    book_at := greatest(head.last_at, clock_timestamp());

    -- Windows over the rows of an order take the place of joins, which would compare
    -- each step of a list with all others.
    WITH steps AS MATERIALIZED (
        SELECT s.*,
            max(s.step) FILTER (WHERE s.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED'))
                OVER (ORDER BY s.step) AS came
        FROM unnest(kinds, orders, messages, units, limits, reasons, actors)
            WITH ORDINALITY AS s (kind, id, message, units, price, reason, actor, step)
    ), lines AS (
        SELECT 0 AS step, 0 AS part, NULL AS kind, o.id, NULL::integer AS message,
            o.quantity AS units, o.limit_price AS price, NULL AS reason, NULL AS actor,
            NULL::bigint AS came, o.side, o.filled, o.filled_value AS value, o.priority,
            o.ledger_account_id AS ledger_account, o.cash_account_id AS cash_account,
            NULL::bigint AS nth, o.account_id AS account
        FROM (SELECT DISTINCT s.id FROM steps s) AS s
        -- LATERAL looks each order up, whatever the planner knows of the tables.
        CROSS JOIN LATERAL (
            SELECT * FROM trading_order x WHERE x.id = s.id LIMIT 1) o
        WHERE o.token_id = of_token AND o.status = 'OPEN'
        UNION ALL
        SELECT 0, 0, NULL, n.id, NULL, NULL, NULL, NULL, NULL, NULL, n.side, 0, 0, 0,
            l.id, c.id, n.nth, a.id
        FROM unnest(new_orders, accounts, sides) WITH ORDINALITY
            AS n (id, account, side, nth)
        JOIN accounts_account a ON a.id = n.account
        LEFT JOIN issuers_ledgeraccount l ON l.user_id = a.user_id
        LEFT JOIN accounts_cashaccount c ON c.account_id = n.account
        UNION ALL
        SELECT s.step, 0, s.kind, s.id, s.message, s.units, s.price, s.reason, s.actor,
            s.came, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM steps s
        UNION ALL
        SELECT s.step, 1, s.kind, orders[s.came], s.message, s.units, NULL, NULL,
            actors[s.came], s.came, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM steps s WHERE s.kind = 'ORDER_TRADED'
    ), known AS (
        SELECT l.step, l.part, l.kind, l.id, l.message, l.units, l.price, l.actor,
            coalesce(l.reason, '') AS reason, l.came,
            first_value(l.side) OVER w AS side,
            first_value(l.filled) OVER w AS filled_before,
            first_value(l.value) OVER w AS value_before,
            first_value(l.priority) OVER w AS priority_before,
            first_value(l.ledger_account) OVER w AS ledger_account,
            first_value(l.cash_account) OVER w AS cash_account,
            first_value(l.nth) OVER w AS nth,
            first_value(l.account) OVER w AS account,
            coalesce(first_value(l.units) OVER w, min(l.units) FILTER (
                WHERE l.kind = 'ORDER_ACCEPTED') OVER w) AS quantity_before,
            coalesce(first_value(l.price) OVER w, min(l.price) FILTER (
                WHERE l.kind = 'ORDER_ACCEPTED') OVER w) AS price_before
        FROM lines l
        WINDOW w AS (PARTITION BY l.id ORDER BY l.step, l.part
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ), numbered AS (
        SELECT k.step, k.part, k.kind, k.id, k.message, k.actor, k.reason, k.came,
            k.side, k.filled_before, k.value_before, k.priority_before,
            k.ledger_account, k.cash_account, k.nth, k.account, k.quantity_before,
            k.price_before,
            market.last_event + row_number() OVER by_number AS number,
            CASE WHEN k.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED') THEN k.price
                WHEN k.kind = 'ORDER_TRADED' THEN CASE k.part WHEN 0 THEN k.price_before
                    ELSE lag(k.price_before) OVER by_number END END AS price,
            CASE WHEN k.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED')
                THEN k.units END AS units,
            CASE WHEN k.kind = 'ORDER_TRADED' THEN head.last_trade
                + sum((k.kind = 'ORDER_TRADED' AND k.part = 0)::integer) OVER by_number
            END AS trade
        FROM known k WHERE k.step > 0
        WINDOW by_number AS (ORDER BY k.step, k.part)
    ), events AS MATERIALIZED (
        SELECT n.*,
            n.filled_before + coalesce(sum(n.units) FILTER (
                WHERE n.kind = 'ORDER_TRADED') OVER by_order, 0) AS filled,
            n.value_before + coalesce(sum(n.units * n.price) FILTER (
                WHERE n.kind = 'ORDER_TRADED') OVER by_order, 0) AS value,
            coalesce(max(n.units) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order,
                n.quantity_before) AS quantity,
            coalesce(max(n.price) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order,
                n.price_before) AS limit_price,
            coalesce(max(n.number) FILTER (WHERE n.kind = 'ORDER_ACCEPTED'
                OR n.kind = 'ORDER_AMENDED' AND NOT (n.price = n.price_before
                    AND n.units <= n.quantity_before)) OVER by_order,
                n.priority_before) AS place,
            count(*) FILTER (WHERE n.kind = 'ORDER_AMENDED') OVER by_order AS amended,
            lead(n.number) OVER by_order IS NULL AS is_last,
            n.reason IN ('IMMEDIATE_OR_CANCEL', 'FILL_OR_KILL', 'SELF_TRADE') AS stops
        FROM numbered n
        WINDOW by_order AS (PARTITION BY n.id ORDER BY n.number)
    ), ends AS MATERIALIZED (
        SELECT e.*, CASE e.kind WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                WHEN 'ORDER_EXPIRED' THEN 'EXPIRED' ELSE
                CASE e.quantity - e.filled WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END
                AS status
        FROM events e WHERE e.is_last
    ), put AS (
        INSERT INTO trading_order (id, token_id, account_id, user_id, ledger_account_id,
            cash_account_id, partner_id, side, limit_price, quantity, filled,
            filled_value, time_in_force, expires_at, status, status_reason, priority,
            version, last_event, client_order_id, created_at, updated_at)
        SELECT e.id, of_token, a.id, a.user_id, e.ledger_account, e.cash_account,
            a.partner_id, e.side, e.limit_price, e.quantity, e.filled, e.value,
            in_force[e.nth], expiries[e.nth], e.status, nullif(e.reason, ''), e.place,
            1, e.number, client_ids[e.nth], judged_at, judged_at
        FROM ends e JOIN accounts_account a ON a.id = accounts[e.nth]
        WHERE e.nth IS NOT NULL
    ), updated AS (
        UPDATE trading_order o SET limit_price = e.limit_price, quantity = e.quantity,
            filled = e.filled, filled_value = e.value, status = e.status,
            status_reason = nullif(e.reason, ''), priority = e.place,
            version = o.version + e.amended, last_event = e.number,
            updated_at = judged_at
        FROM ends e WHERE e.nth IS NULL AND o.id = e.id
    ), noted AS (
        INSERT INTO trading_orderevent (token_id, number, kind, order_id, price,
            quantity, filled, remaining, value, priority, trade, reason, actor, at)
        SELECT of_token, e.number, e.kind, e.id, e.price, e.units, e.filled,
            e.quantity - e.filled, e.value,
            CASE WHEN e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED') THEN e.place END,
            e.trade, e.reason, e.actor, judged_at
        FROM events e
    ), held AS (
        SELECT e.side, CASE e.side WHEN 1 THEN e.ledger_account ELSE e.cash_account END
                AS account,
            sum(h.after - h.before) AS delta
        FROM ends e
        CROSS JOIN LATERAL (SELECT
            CASE e.status WHEN 'OPEN' THEN (e.quantity - e.filled)
                * CASE e.side WHEN 1 THEN 1 ELSE e.limit_price END ELSE 0 END AS after,
            CASE WHEN e.nth IS NOT NULL THEN 0
                ELSE (e.quantity_before - e.filled_before)
                    * CASE e.side WHEN 1 THEN 1 ELSE e.price_before END END AS before) h
        GROUP BY 1, 2 HAVING sum(h.after - h.before) <> 0
    ), trades AS (
        SELECT e.trade, min(e.price) AS price, min(e.units) AS units,
            min(e.actor) FILTER (WHERE e.part = 1) AS actor,
            min(e.ledger_account) FILTER (WHERE e.side = 1) AS seller,
            min(e.ledger_account) FILTER (WHERE e.side = 0) AS buyer,
            min(e.cash_account) FILTER (WHERE e.side = 1) AS paid_to,
            min(e.cash_account) FILTER (WHERE e.side = 0) AS paid_by,
            (min(e.id::text) FILTER (WHERE e.side = 0))::uuid AS buy,
            (min(e.id::text) FILTER (WHERE e.side = 1))::uuid AS sell,
            (min(e.account::text) FILTER (WHERE e.side = 0))::uuid AS buyer_account,
            (min(e.account::text) FILTER (WHERE e.side = 1))::uuid AS seller_account,
            min(e.side) FILTER (WHERE e.part = 1) AS aggressor,
            max(e.number) AS event
        FROM events e WHERE e.kind = 'ORDER_TRADED' GROUP BY e.trade
    ), moves AS (
        -- A part of an order's units leaves the book, or rests in it.
        SELECT e.message, e.side, e.price_before AS price, e.step * 2 AS place,
            CASE e.kind WHEN 'ORDER_TRADED' THEN -e.units
                ELSE e.filled - e.quantity END AS delta
        FROM events e
        WHERE e.kind IN ('ORDER_TRADED', 'ORDER_CANCELLED', 'ORDER_EXPIRED')
            AND e.part = 0 AND NOT e.stops
        UNION ALL
        SELECT e.message, e.side, e.price_before, 0, e.filled_before - e.quantity_before
        FROM events e WHERE e.kind = 'ORDER_AMENDED'
        UNION ALL
        SELECT min(e.message) FILTER (WHERE e.step = e.came),
            min(e.side) FILTER (WHERE e.step = e.came),
            min(e.price) FILTER (WHERE e.step = e.came), max(e.step) * 2 + 1,
            min(e.quantity - e.filled) FILTER (WHERE e.step = e.came)
                - coalesce(sum(e.units) FILTER (WHERE e.part = 1), 0)
        FROM events e WHERE e.part = 1 OR e.step = e.came OR e.stops
        GROUP BY e.came HAVING NOT bool_or(e.stops)
    ), changes AS (
        SELECT c.*, lead(c.message) OVER (ORDER BY c.message, c.place)
                IS DISTINCT FROM c.message AS is_end
        FROM (
            SELECT m.message, m.side, m.price, min(m.place) AS place,
                sum(m.delta) AS delta,
                coalesce(min(b.quantity), 0) + sum(sum(m.delta)) OVER (
                    PARTITION BY m.side, m.price ORDER BY m.message) AS units
            FROM moves m LEFT JOIN marketdata_booklevel b ON b.token_id = of_token
                AND b.side = m.side AND b.price_cents = m.price
            GROUP BY m.message, m.side, m.price
        ) c WHERE c.delta <> 0
    )
    SELECT k.wrong, h.accounts, h.units, h.heads, h.cents,
        c.sides, c.prices, c.units, c.ends,
        t.prices, t.units, t.actors, t.sellers, t.buyers, t.paid_to, t.paid_by, t.buys,
        t.sells, t.buyer_accounts, t.seller_accounts, t.aggressors, t.events
    INTO wrong, held_accounts, held_units, held_heads, held_cents,
        changed_sides, changed_prices, changed_units, changed_ends,
        fill_prices, fill_units, fill_actors, sellers, buyers, paid_to, paid_by, buys,
        sells, buyer_accounts, seller_accounts, aggressors, fill_events
    FROM (
        SELECT min(coalesce(e.id::text, '')) FILTER (WHERE (
            e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED', 'ORDER_TRADED',
                'ORDER_CANCELLED', 'ORDER_EXPIRED')
            AND (e.is_last OR e.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED'))
            AND (e.kind = 'ORDER_ACCEPTED')
                = (e.nth IS NOT NULL AND e.number = e.place)
            AND e.filled < e.quantity + (e.kind = 'ORDER_TRADED')::integer) IS NOT TRUE)
            AS wrong
        FROM events e
    ) k, (
        SELECT array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 1)
                AS accounts,
            array_agg(h.delta::numeric ORDER BY h.account) FILTER (WHERE h.side = 1)
                AS units,
            array_agg(h.account ORDER BY h.account) FILTER (WHERE h.side = 0) AS heads,
            array_agg(h.delta::bigint ORDER BY h.account) FILTER (WHERE h.side = 0)
                AS cents
        FROM held h
    ) h, (
        SELECT coalesce(array_agg(c.side ORDER BY c.message, c.place), '{}') AS sides,
            array_agg(c.price ORDER BY c.message, c.place) AS prices,
            array_agg(c.units::bigint ORDER BY c.message, c.place) AS units,
            array_agg(c.is_end ORDER BY c.message, c.place) AS ends
        FROM changes c
    ) c, (
        SELECT array_agg(t.price ORDER BY t.trade) AS prices,
            array_agg(t.units ORDER BY t.trade) AS units,
            array_agg(t.actor ORDER BY t.trade) AS actors,
            array_agg(t.seller ORDER BY t.trade) AS sellers,
            array_agg(t.buyer ORDER BY t.trade) AS buyers,
            array_agg(t.paid_to ORDER BY t.trade) AS paid_to,
            array_agg(t.paid_by ORDER BY t.trade) AS paid_by,
            array_agg(t.buy ORDER BY t.trade) AS buys,
            array_agg(t.sell ORDER BY t.trade) AS sells,
            array_agg(t.buyer_account ORDER BY t.trade) AS buyer_accounts,
            array_agg(t.seller_account ORDER BY t.trade) AS seller_accounts,
            array_agg(t.aggressor ORDER BY t.trade) AS aggressors,
            array_agg(t.event ORDER BY t.trade) AS events
        FROM trades t
    ) t;
    IF wrong IS NOT NULL OR cardinality(array_positions(kinds, 'ORDER_AMENDED')) > 0
        AND cardinality(new_orders) > 0 THEN
        RAISE EXCEPTION 'An order is taken once, and amended, filled or ended while it '
            'is OPEN: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    told := market.last_event + cardinality(kinds) + fills;

    IF sellers IS NOT NULL THEN
        PERFORM FROM issuers_ledgeraccount a
            WHERE a.id = ANY (sellers || buyers) ORDER BY a.id FOR SHARE;
    END IF;
    PERFORM FROM accounts_cashhead h
        WHERE h.cash_account_id = ANY (paid_to || paid_by || held_heads)
        ORDER BY h.cash_account_id FOR NO KEY UPDATE;
    last := head.last_sequence + cardinality(changed_sides);
    IF last >= head.last_snapshot + 1000 THEN
        -- All snapshots of a deep book together are no larger than its log.
        is_snapshot := last >= head.last_snapshot + (
            SELECT count(*) FROM marketdata_booklevel b WHERE b.token_id = of_token);
    END IF;
    WITH c AS MATERIALIZED (
        SELECT head.last_sequence + c.place AS sequence, c.side, c.price, c.units, c.ends,
            lead(c.place) OVER (PARTITION BY c.side, c.price ORDER BY c.place) IS NULL
                AS is_last
        FROM unnest(changed_sides, changed_prices, changed_units, changed_ends)
            WITH ORDINALITY AS c (side, price, units, ends, place)
    ), t AS MATERIALIZED (
        SELECT head.last_trade + t.place AS sequence, t.price, t.units
        FROM unnest(fill_prices, fill_units) WITH ORDINALITY AS t (price, units, place)
    ), logged AS (
        INSERT INTO marketdata_bookchange
            (token_id, sequence, side, price_cents, quantity, ends_message, at)
        SELECT of_token, c.sequence, c.side, c.price, c.units, c.ends, book_at FROM c
    ), emptied AS (
        DELETE FROM marketdata_booklevel b USING c
        WHERE c.is_last AND c.units = 0 AND b.token_id = of_token AND b.side = c.side
            AND b.price_cents = c.price
    ), kept AS (
        INSERT INTO marketdata_booklevel (token_id, side, price_cents, quantity)
        SELECT of_token, c.side, c.price, c.units FROM c WHERE c.is_last AND c.units > 0
        ON CONFLICT (token_id, side, price_cents)
        DO UPDATE SET quantity = excluded.quantity
    ), taped AS (
        INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
        SELECT of_token, t.sequence, t.price, t.units, book_at FROM t
    )
    UPDATE marketdata_orderbookhead h SET last_sequence = last,
        last_trade = h.last_trade + fills,
        last_snapshot = CASE WHEN is_snapshot THEN last ELSE h.last_snapshot END,
        last_at = book_at,
        fingerprint = h.fingerprint + coalesce((
            SELECT sum(('x' || left(md5(concat_ws(' ', 'change', c.sequence, c.side,
                c.price, c.units, c.ends, extract(epoch FROM book_at))), 16))::bit(64)
                ::bigint::numeric) FROM c), 0) + coalesce((
            SELECT sum(('x' || left(md5(concat_ws(' ', 'trade', t.sequence, t.price,
                t.units, extract(epoch FROM book_at))), 16))::bit(64)::bigint::numeric)
            FROM t), 0)
    WHERE h.token_id = of_token AND (last > head.last_sequence OR fills > 0);
    IF is_snapshot THEN
        INSERT INTO marketdata_booksnapshot (token_id, sequence, trade_sequence, at,
            fingerprint, bid_prices, bid_quantities, ask_prices, ask_quantities)
        SELECT h.token_id, h.last_sequence, h.last_trade, h.last_at, h.fingerprint,
            coalesce(l.bids, '{}'), coalesce(l.bid_units, '{}'),
            coalesce(l.asks, '{}'), coalesce(l.ask_units, '{}')
        FROM marketdata_orderbookhead h, (
            SELECT array_agg(b.price_cents ORDER BY b.price_cents DESC)
                    FILTER (WHERE b.side = 0) AS bids,
                array_agg(b.quantity ORDER BY b.price_cents DESC)
                    FILTER (WHERE b.side = 0) AS bid_units,
                array_agg(b.price_cents ORDER BY b.price_cents)
                    FILTER (WHERE b.side = 1) AS asks,
                array_agg(b.quantity ORDER BY b.price_cents)
                    FILTER (WHERE b.side = 1) AS ask_units
            FROM marketdata_booklevel b WHERE b.token_id = of_token
        ) l
        WHERE h.token_id = of_token;
    END IF;
    UPDATE trading_market SET last_event = told, last_at = judged_at
        WHERE token_id = of_token;

    IF fills > 0 OR held_accounts IS NOT NULL THEN
        PERFORM FROM register_post(moved_at,
            array_fill(of_token, ARRAY[fills]), array_fill('TRADE'::text, ARRAY[fills]),
            coalesce(sellers, '{}'), coalesce(buyers, '{}'),
            coalesce(fill_units::numeric[], '{}'),
            array_fill(''::text, ARRAY[fills]), coalesce(fill_actors, '{}'),
            array_fill(NULL::uuid, ARRAY[fills]), array_fill(NULL::bigint, ARRAY[fills]),
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[of_token] ELSE '{}' END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[fill_prices[fills]] ELSE '{}'
                END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY['TRADE'] ELSE '{}' END,
            CASE WHEN fills > 0 AND is_priced THEN ARRAY[fill_actors[fills]] ELSE '{}'
                END,
            array_fill(of_token, ARRAY[coalesce(cardinality(held_accounts), 0)]),
            coalesce(held_accounts, '{}'), coalesce(held_units, '{}'));
    END IF;
    IF fills > 0 OR held_heads IS NOT NULL THEN
        paid := cash_post(moved_at, array_fill('TRADE'::text, ARRAY[fills]),
            coalesce(paid_by, '{}'), coalesce(paid_to, '{}'), ARRAY(
                SELECT t.price * t.units FROM unnest(fill_prices, fill_units)
                    WITH ORDINALITY AS t (price, units, place) ORDER BY t.place),
            coalesce(fill_actors, '{}'), array_fill(''::text, ARRAY[fills]),
            array_fill(NULL::text, ARRAY[fills]), array_fill(NULL::bigint, ARRAY[fills]),
            array_fill(NULL::bigint, ARRAY[fills]), array_fill(NULL::uuid, ARRAY[fills]),
            coalesce(held_heads, '{}'), coalesce(held_cents, '{}'));
    END IF;
    IF fills > 0 THEN
        INSERT INTO trading_execution (token_id, sequence, buy_order_id, sell_order_id,
            buyer_account_id, seller_account_id, price, quantity, aggressor, ledger_seq,
            cash_transaction, event, at)
        SELECT of_token, head.last_trade + x.place, x.buy, x.sell, x.buyer, x.seller,
            x.price, x.units, x.aggressor, entry + x.place, x.payment, x.event, judged_at
        FROM unnest(buys, sells, buyer_accounts, seller_accounts, fill_prices,
            fill_units, aggressors, paid, fill_events) WITH ORDINALITY AS x (buy, sell,
            buyer, seller, price, units, aggressor, payment, event, place);
        SELECT x.buy INTO wrong
        FROM unnest(buys, sells, fill_prices, aggressors)
            AS x (buy, sell, price, aggressor)
        LEFT JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.buy LIMIT 1) b ON TRUE
        LEFT JOIN LATERAL (
            SELECT * FROM trading_order o WHERE o.id = x.sell LIMIT 1) s ON TRUE
        WHERE (b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
                AND x.price <= b.limit_price AND x.price >= s.limit_price
                AND (b.priority > s.priority) = (x.aggressor = 0)
                AND (b.expires_at > judged_at) IS NOT FALSE
                AND (s.expires_at > judged_at) IS NOT FALSE) IS NOT TRUE
        LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'A trade is of a buy and a sell order of two users that '
                'have not expired, at the price of the older and within the limit of '
                'the newer: %.', wrong USING ERRCODE = 'restrict_violation';
        END IF;
    END IF;

    IF kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED'] THEN
        SELECT j.broken, j.id INTO rule, wrong FROM (
            SELECT o.id, CASE
                WHEN e.price % market.tick_cents <> 0 THEN 'tick'
                WHEN e.quantity % market.lot_units <> 0 THEN 'lot'
                WHEN abs(e.price - market.reference_price)
                    > market.reference_price * market.collar_bps / 10000 THEN 'collar'
                WHEN e.price * e.quantity <= 0 THEN 'value'
                WHEN CASE WHEN e.kind = 'ORDER_AMENDED' THEN o.expires_at > judged_at
                    ELSE CASE o.time_in_force
                    WHEN 'DAY' THEN o.expires_at = market.next_phase_at
                    WHEN 'GTC' THEN o.expires_at = judged_at + interval '2160 hours'
                    WHEN 'GTD' THEN o.expires_at > judged_at
                        AND o.expires_at <= judged_at + interval '2160 hours'
                    ELSE o.expires_at IS NULL END END IS NOT TRUE THEN 'expiry'
                WHEN o.time_in_force = 'FOK' AND o.filled NOT IN (0, o.quantity)
                    THEN 'fill or kill'
                WHEN a.status <> 'ACTIVE' THEN 'account'
                WHEN p.login <> e.actor THEN 'who asked'
                WHEN EXISTS (SELECT FROM trading_orderblock b
                    WHERE b.released_at IS NULL
                        AND (b.partner_id = o.partner_id OR b.partner_id IS NULL)
                        AND (b.account_id = o.account_id OR b.account_id IS NULL)
                        AND (b.token_id = of_token OR b.token_id IS NULL))
                    THEN 'blocks'
                WHEN o.status = 'OPEN' AND (SELECT count(*) FROM trading_order x
                    WHERE x.account_id = o.account_id AND x.token_id = of_token
                        AND x.status = 'OPEN') > 1000 THEN 'open orders' END AS broken
            FROM trading_orderevent e
            CROSS JOIN LATERAL (
                SELECT * FROM trading_order x WHERE x.id = e.order_id LIMIT 1) o
            CROSS JOIN LATERAL (
                SELECT x.status FROM accounts_account x
                WHERE x.id = o.account_id LIMIT 1) a
            CROSS JOIN LATERAL (
                SELECT x.login FROM accounts_partner x
                WHERE x.id = o.partner_id LIMIT 1) p
            WHERE e.token_id = of_token AND e.number > market.last_event
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
        ) j WHERE j.broken IS NOT NULL LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'The order breaks the rule of %: %.', rule, wrong
                USING ERRCODE = 'restrict_violation';
        END IF;
        PERFORM trading_judge_priority(of_token, market.last_event, head.last_trade,
            judged_at);
        IF EXISTS (SELECT FROM issuers_tokenrule r
                WHERE r.token_id = of_token AND r.ended_at IS NULL)
            OR EXISTS (SELECT FROM issuers_restriction r WHERE r.ended_at IS NULL) THEN
            PERFORM trading_judge_holders(of_token, market.last_event, judged_at);
        END IF;
    END IF;
    IF kinds && ARRAY['ORDER_CANCELLED', 'ORDER_EXPIRED'] THEN
        PERFORM trading_judge_endings(of_token, market.last_event, judged_at);
    END IF;
    -- A call that takes or amends orders is its transaction's last; of calls that end
    -- orders others may follow, on other markets.
    IF cardinality(new_orders) > 0 THEN
        PERFORM accounts_count(array_agg(c.list), array_agg(c.key), array_agg(c.number),
            last => TRUE)
        FROM (
            SELECT 'orders'::text AS list, o.partner_id AS key, count(*) AS number
            FROM trading_order o WHERE o.id = ANY (new_orders) GROUP BY o.partner_id
            UNION ALL
            SELECT 'accountOrders', u.account, count(*) FROM unnest(accounts) AS u (account)
            GROUP BY u.account
        ) c;
    END IF;
    PERFORM events_write(NULL, array_agg(o.partner_id ORDER BY e.number),
        array_agg(e.kind::text ORDER BY e.number), array_agg(o.id ORDER BY e.number),
        NULL, array_agg(of_token ORDER BY e.number),
        array_agg(o.account_id ORDER BY e.number), NULL,
        array_agg(e.number ORDER BY e.number), array_agg(e.price ORDER BY e.number),
        array_agg(e.quantity ORDER BY e.number),
        array_agg(e.remaining ORDER BY e.number), array_agg(e.trade ORDER BY e.number),
        array_agg(CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
            THEN e.reason END ORDER BY e.number),
        last => kinds && ARRAY['ORDER_ACCEPTED', 'ORDER_AMENDED'])
    FROM trading_orderevent e JOIN trading_order o ON o.id = e.order_id
    WHERE e.token_id = of_token AND e.number > market.last_event;
    RETURN QUERY SELECT told, last, head.last_trade + fills, entry + fills, paid;
END $$;
REVOKE ALL ON FUNCTION public.trading_write(uuid, timestamp with time zone, text[], uuid[], integer[], bigint[], bigint[], text[], text[], boolean, uuid[], uuid[], smallint[], text[], timestamp with time zone[], text[]) FROM PUBLIC;

DROP VIEW public.trading_fill;
CREATE OR REPLACE VIEW public.trading_fill AS
SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 0))::uuid AS id, e.token_id, e.sequence, 0::smallint AS side, e.buy_order_id AS order_id, e.buyer_account_id AS account_id, e.price, e.quantity, e.price * e.quantity AS value, CASE WHEN e.aggressor IS NULL THEN 'AUCTION'::text WHEN e.aggressor = 0 THEN 'TAKER'::text ELSE 'MAKER'::text END AS liquidity, e.ledger_seq, e.at, ( SELECT b.at FROM trading_bust b WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at FROM trading_execution e UNION ALL SELECT md5(concat_ws(' '::text, e.token_id, e.sequence, 1))::uuid AS id, e.token_id, e.sequence, 1::smallint AS side, e.sell_order_id AS order_id, e.seller_account_id AS account_id, e.price, e.quantity, e.price * e.quantity AS value, CASE WHEN e.aggressor IS NULL THEN 'AUCTION'::text WHEN e.aggressor = 1 THEN 'TAKER'::text ELSE 'MAKER'::text END AS liquidity, e.ledger_seq, e.at, ( SELECT b.at FROM trading_bust b WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at FROM trading_execution e;

DROP FUNCTION public.trading_announce(uuid);

DROP FUNCTION public.trading_announce_bust(uuid, bigint, bigint);

DROP FUNCTION public.trading_apply_parameters(uuid, timestamp with time zone);

DROP FUNCTION public.trading_call(uuid, timestamp with time zone, timestamp with time zone, timestamp with time zone, bigint, bigint, bigint, text, text);

DROP FUNCTION public.trading_charge(uuid, bigint, timestamp with time zone);

DROP FUNCTION public.trading_correct(uuid, bigint, bigint, text, text, text);

DROP FUNCTION public.trading_end_off(uuid, timestamp with time zone);

DROP FUNCTION public.trading_fee_due(trading_tariff, numeric, numeric, numeric);

DROP FUNCTION public.trading_fee_net(numeric, integer);

DROP FUNCTION public.trading_fixing(time without time zone[], timestamp with time zone, timestamp with time zone);

DROP FUNCTION public.trading_indicate(uuid, bigint, bigint, bigint, bigint, bigint);

DROP FUNCTION public.trading_interrupt(uuid, bigint, bigint, timestamp with time zone);

DROP FUNCTION public.trading_is_off(bigint, bigint, bigint, bigint[], bigint[], bigint, integer, bigint);

DROP FUNCTION public.trading_issue_document(bytea, bytea);

DROP FUNCTION public.trading_lock_markets(uuid[]);

DROP FUNCTION public.trading_opening(uuid, text);

DROP FUNCTION public.trading_reference(uuid);

DROP FUNCTION public.trading_refused_fills(uuid, bigint, boolean);

DROP FUNCTION public.trading_session(time without time zone, time without time zone, boolean, date[], timestamp with time zone);

DROP FUNCTION public.trading_set_parameters(text, uuid, jsonb, text);

DROP FUNCTION public.trading_set_tariff(text, uuid, uuid, timestamp with time zone, integer, integer, bigint, bigint, integer, text);

DROP FUNCTION public.trading_settle(uuid, integer);

DROP FUNCTION public.trading_sweep();

DROP FUNCTION public.trading_uncross(uuid, bigint, uuid[], uuid[], bigint[]);
"""

FIRST = """
    INSERT INTO trading_marketparameters (token_id, session_opens, session_closes,
        weekdays_only, tick_cents, lot_units, collar_bps, valid_from, opens_at,
        announced_at, reason, created_by, approved_by, created_at)
    SELECT m.token_id, m.session_opens, m.session_closes, m.weekdays_only, m.tick_cents,
        m.lot_units, m.collar_bps, e.at, e.at, e.at, '', e.actor, '', e.at
    FROM trading_market m JOIN trading_orderevent e
        ON e.token_id = m.token_id AND e.number = 1
    WHERE NOT EXISTS (
        SELECT FROM trading_marketparameters p WHERE p.token_id = m.token_id)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0046_trading_at_last_is_validated"),
        ("issuers", "0105_erasures_offerings_writers"),
        ("accounts", "0087_fees_offerings_approvals"),
    ]

    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RunSQL(FIRST, migrations.RunSQL.noop),
    ]

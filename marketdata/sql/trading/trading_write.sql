-- Writes what was decided about a market's orders, in the order of the steps, and judges
-- it. A step takes, amends or ends an order, or fills a resting one for the order that
-- was taken or amended last; the message is that of the book's log. The last arrays are
-- of the orders that are taken. Numbers, times, statuses, levels, entries, payments and
-- reservations follow from the steps. Returns the last numbers, and the payments in
-- the order of the fills.
-- called by: application, trading_end_off
-- raises: lock_not_available, restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_ledgeraccount (FOR SHARE), issuers_tokenledgerhead (FOR UPDATE),
--     limits of partner (advisory, not waited for),
--     marketdata_orderbookhead (FOR NO KEY UPDATE),
--     orders of partner (advisory, shared), writers of the register (advisory, shared)
CREATE OR REPLACE FUNCTION public.trading_write(
    of_token uuid, judged_at timestamp with time zone, kinds text[], orders uuid[],
    messages integer[], units bigint[], limits bigint[], reasons text[], actors text[],
    is_priced boolean, new_orders uuid[], accounts uuid[], sides smallint[],
    in_force text[], expiries timestamp with time zone[], client_ids text[]
)
RETURNS TABLE(last_event bigint, last_change bigint, last_trade bigint, last_entry
    bigint, payments bigint[]) LANGUAGE plpgsql SECURITY DEFINER
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
REVOKE ALL ON FUNCTION public.trading_write(uuid, timestamp with time zone, text[], uuid[],
    integer[], bigint[], bigint[], text[], text[], boolean, uuid[], uuid[], smallint[],
    text[], timestamp with time zone[], text[]) FROM PUBLIC;

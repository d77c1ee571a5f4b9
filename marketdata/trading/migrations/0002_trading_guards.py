"""What a market writes adds up, whoever writes it: orders, executions and its log.

A request is written in this order: orders that give way, entries, payments, orders that
come, executions, the book's log, the market's log. Each trigger judges by what stands
before it; what comes behind is judged at the commit.
"""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import drop, function, trigger_function

approvals = import_module("issuers.migrations.0025_approvals")

# A plan is kept for the session, and may be made while the tables are still empty.
BY_INDEX = "SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off"
RESTRICTED = "USING ERRCODE = 'restrict_violation'"
LASTING = (
    "token_id", "account_id", "user_id", "ledger_account_id", "cash_account_id",
    "partner_id", "side", "time_in_force", "expires_at", "client_order_id",
    "created_at",
)  # fmt: skip


def row(alias, columns=LASTING):
    return ", ".join(f"{alias}.{column}" for column in columns)


# The heads of books are the first locks of all. They are waited for as long as the
# session's own limit says, unlike in functions that feeds call.
LOCK = function(
    "trading_lock(tokens uuid[])",
    """TABLE (
    token_id uuid, source text, last_sequence bigint, last_snapshot bigint,
    last_trade bigint, phase text, next_phase text, next_phase_at timestamptz,
    session_opens time, session_closes time, weekdays_only boolean, tick_cents bigint,
    lot_units bigint, collar_bps integer, reference_price bigint, last_event bigint,
    last_at timestamptz)""",
    """
    PERFORM FROM marketdata_orderbookhead h
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id FOR NO KEY UPDATE;
    RETURN QUERY
        SELECT h.token_id, h.source::text, h.last_sequence, h.last_snapshot,
            h.last_trade, m.phase::text, m.next_phase::text, m.next_phase_at,
            m.session_opens, m.session_closes, m.weekdays_only, m.tick_cents,
            m.lot_units, m.collar_bps, m.reference_price, m.last_event, m.last_at
        FROM marketdata_orderbookhead h
        LEFT JOIN trading_market m ON m.token_id = h.token_id
        WHERE h.token_id = ANY (tokens) ORDER BY h.token_id;
    """,
    settings=BY_INDEX,
)

# A book that was fed is emptied in one message, and fed no more.
OPEN = function(
    "trading_open(token uuid, opens time, closes time, weekdays boolean,"
    " begins timestamptz, tick bigint, lot bigint, collar integer, reference bigint,"
    " opened_by text)",
    "void",
    f"""
    SELECT * INTO head FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    IF head.source IS DISTINCT FROM 'EXTERNAL' THEN
        RAISE EXCEPTION 'A market opens once, on a token that has an order book.'
            {RESTRICTED};
    END IF;
    SELECT array_agg(l.side), array_agg(l.price_cents), array_agg(0::bigint),
        array_agg(FALSE) INTO sides, prices, empty, ends
    FROM marketdata_booklevel l WHERE l.token_id = token;
    IF prices IS NOT NULL THEN
        ends[cardinality(ends)] := TRUE;
        PERFORM marketdata_record(token, head.last_sequence, sides, prices, empty,
            ends, '{{}}', '{{}}', FALSE);
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
    """,
    declare="head marketdata_orderbookhead;\n    sides smallint[];\n"
    "    prices bigint[];\n    empty bigint[];\n    ends boolean[];\n"
    "    opened_at timestamptz;",
    settings=BY_INDEX,
)

CHANGE_PHASE = function(
    "trading_change_phase(token uuid, wanted text, follows text,"
    " follows_at timestamptz, reference bigint, why text, changed_by text)",
    "void",
    f"""
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id = token FOR NO KEY UPDATE;
    SELECT * INTO market FROM trading_market WHERE token_id = token;
    IF NOT coalesce(CASE market.phase
            WHEN 'CLOSED' THEN wanted IN ('CONTINUOUS', 'HALTED')
            WHEN 'CONTINUOUS' THEN wanted IN ('CLOSED', 'HALTED')
            WHEN 'HALTED' THEN wanted IN ('CONTINUOUS', 'CLOSED') END, FALSE) THEN
        RAISE EXCEPTION 'A market that is % does not become %.', market.phase, wanted
            {RESTRICTED};
    END IF;
    IF wanted = 'HALTED' AND why = '' THEN
        RAISE EXCEPTION 'Say why the market is halted.' {RESTRICTED};
    END IF;
    IF market.phase = 'HALTED' THEN
        PERFORM approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
    END IF;
    changed_at := greatest(market.last_at, clock_timestamp());
    UPDATE trading_market SET phase = wanted, phase_since = changed_at,
        next_phase = follows, next_phase_at = follows_at,
        reference_price = coalesce(reference, reference_price),
        halt_reason = CASE wanted WHEN 'HALTED' THEN why ELSE '' END,
        last_event = last_event + 1, last_phase_event = last_event + 1,
        last_at = changed_at
        WHERE token_id = token RETURNING * INTO market;
    INSERT INTO trading_orderevent (token_id, number, kind, price, phase, reason, actor,
        at)
    VALUES (token, market.last_event, 'PHASE_CHANGED', market.reference_price, wanted,
        why, changed_by, changed_at);
    """,
    declare="market trading_market;\n    changed_at timestamptz;",
    settings=BY_INDEX,
)

# What an order holds: the units that it sells, the cash that it may cost.
HELD = """SELECT token_id, side, ledger_account_id, cash_account_id,
        {sign}(quantity - filled) AS units, {sign}(quantity - filled) * limit_price AS cents
        FROM {rows} WHERE status = 'OPEN'"""


def reserve(held):
    return f"""
    WITH held AS ({held}), per_account AS (
        SELECT token_id, side,
            CASE side WHEN 1 THEN ledger_account_id ELSE cash_account_id END AS account,
            sum(CASE side WHEN 1 THEN units ELSE cents END) AS delta
        FROM held GROUP BY 1, 2, 3
        HAVING sum(CASE side WHEN 1 THEN units ELSE cents END) <> 0
    ), units AS (
        SELECT issuers_reserve_units(token_id, array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 1 GROUP BY token_id
    ), cash AS (
        SELECT accounts_reserve_cash(array_agg(account ORDER BY account),
            array_agg(delta::bigint ORDER BY account))
        FROM per_account WHERE side = 0 HAVING count(*) > 0
    )
    SELECT (SELECT count(*) FROM units) + (SELECT count(*) FROM cash) INTO done;
    """


PLACE = trigger_function(
    "trading_follow_placed",
    "trading_order",
    f"""
    SELECT format('order %s', o.id) INTO wrong
    FROM came o
    LEFT JOIN accounts_account a ON a.id = o.account_id
    LEFT JOIN issuers_ledgeraccount l ON l.id = o.ledger_account_id
    LEFT JOIN accounts_cashaccount c ON c.id = o.cash_account_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = o.token_id
    WHERE (a.user_id = o.user_id AND a.partner_id = o.partner_id
        AND a.status = 'ACTIVE' AND l.user_id = o.user_id
        AND c.account_id = o.account_id AND h.source = 'OWN' AND o.version = 1)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order is of an account that is ACTIVE, of its user, partner '
            'and accounts, on a market of ours: %.', wrong {RESTRICTED};
    END IF;
    {reserve(HELD.format(sign="", rows="came"))}
    RETURN NULL;
    """,
    declare="wrong text;\n    done bigint;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER trading_follow_placed AFTER INSERT ON trading_order
    REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION trading_follow_placed();
"""

CHANGE = trigger_function(
    "trading_follow_changed",
    "trading_order",
    f"""
    SELECT format('order %s', coalesce(n.id, o.id)) INTO wrong
    FROM was o FULL JOIN became n ON n.id = o.id
    WHERE (ROW ({row("n")}) IS NOT DISTINCT FROM ROW ({row("o")})
        AND o.status = 'OPEN' AND n.last_event > o.last_event
        AND n.updated_at >= o.updated_at AND n.filled >= o.filled
        AND n.filled_value >= o.filled_value
        AND (n.version = o.version + 1 OR n.version = o.version
            AND ROW (n.limit_price, n.quantity, n.priority)
                = ROW (o.limit_price, o.quantity, o.priority))) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An order changes while it is OPEN, with an event; who, what '
            'and how long stay, and an amendment has a version of its own: %.', wrong
            {RESTRICTED};
    END IF;
    {
        reserve(
            HELD.format(sign="", rows="became")
            + " UNION ALL "
            + HELD.format(sign="-", rows="was")
        )
    }
    RETURN NULL;
    """,
    declare="wrong text;\n    done bigint;",
    settings="SET enable_mergejoin = off SET enable_seqscan = off",
) + """
CREATE TRIGGER trading_follow_changed AFTER UPDATE ON trading_order
    REFERENCING OLD TABLE AS was NEW TABLE AS became
    FOR EACH STATEMENT EXECUTE FUNCTION trading_follow_changed();
"""

# The event judges the order when it comes; here it is seen that it came.
ORDER_AT_COMMIT = trigger_function(
    "trading_told_order",
    "trading_order",
    f"""
    IF NOT EXISTS (
        SELECT FROM trading_order o JOIN trading_orderevent e
            ON e.token_id = o.token_id AND e.number = o.last_event AND e.order_id = o.id
        WHERE o.id = NEW.id) THEN
        RAISE EXCEPTION 'What becomes of an order is an event of the market''s log: %.',
            NEW.id {RESTRICTED};
    END IF;
    IF NEW.version > 1 AND NOT EXISTS (
        SELECT FROM trading_order o CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE e.kind = 'ORDER_AMENDED') AS amended,
                (array_agg(ROW (e.price, e.quantity, e.priority) ORDER BY e.number DESC)
                )[1] = ROW (o.limit_price, o.quantity, o.priority) AS fits
            FROM trading_orderevent e WHERE e.order_id = o.id
                AND e.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')) p
        WHERE o.id = NEW.id AND p.fits AND p.amended = o.version - 1) THEN
        RAISE EXCEPTION 'An order is amended as an event says: %.', NEW.id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_told_order AFTER INSERT OR UPDATE ON trading_order
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION trading_told_order();
"""

EXECUTE = trigger_function(
    "trading_follow_executions",
    "trading_execution",
    f"""
    SELECT format('trade %s of token %s', x.sequence, x.token_id) INTO wrong
    FROM entered x
    LEFT JOIN trading_order b ON b.id = x.buy_order_id
    LEFT JOIN trading_order s ON s.id = x.sell_order_id
    LEFT JOIN trading_market m ON m.token_id = x.token_id
    LEFT JOIN issuers_ledgertransaction l
        ON l.token_id = x.token_id AND l.seq = x.ledger_seq
    LEFT JOIN accounts_cashtransaction c ON c.id = x.cash_transaction
    WHERE (b.token_id = x.token_id AND s.token_id = x.token_id
        AND b.side = 0 AND s.side = 1 AND b.user_id <> s.user_id
        AND x.buyer_account_id = b.account_id AND x.seller_account_id = s.account_id
        AND x.price <= b.limit_price AND x.price >= s.limit_price
        AND x.price = CASE x.aggressor
            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END
        AND m.phase = 'CONTINUOUS' AND x.event > m.last_event + 1
        AND x.at >= m.last_at AND x.at <= greatest(m.last_at, clock_timestamp())
        AND (b.expires_at > x.at) IS NOT FALSE AND (s.expires_at > x.at) IS NOT FALSE
        AND l.kind = 'TRADE' AND l.amount = x.quantity
        AND l.source_id = s.ledger_account_id AND l.target_id = b.ledger_account_id
        AND c.kind = 'TRADE' AND c.amount = x.price * x.quantity
        AND c.source_id = b.cash_account_id AND c.target_id = s.cash_account_id)
        IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'A trade is of a buy and a sell order of two users, at the '
            'resting one''s price and within the other''s limit, while the market is '
            'CONTINUOUS and before either expires, with an entry of its units and a '
            'payment of its price, and names their accounts: %.', wrong {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER trading_follow_executions AFTER INSERT ON trading_execution
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION trading_follow_executions();
"""

EXECUTION_AT_COMMIT = trigger_function(
    "trading_told_execution",
    "trading_execution",
    f"""
    IF NOT EXISTS (SELECT FROM marketdata_trade t WHERE t.token_id = NEW.token_id
            AND t.sequence = NEW.sequence AND t.price_cents = NEW.price
            AND t.quantity = NEW.quantity)
        OR 2 <> (SELECT count(*) FROM trading_orderevent e
            WHERE e.token_id = NEW.token_id
                AND e.number BETWEEN NEW.event - 1 AND NEW.event
                AND e.kind = 'ORDER_TRADED' AND e.trade = NEW.sequence) THEN
        RAISE EXCEPTION 'An execution is the tape''s trade of its number, and an event '
            'of each order: trade % of token %.', NEW.sequence, NEW.token_id
            {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_told_execution AFTER INSERT ON trading_execution
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    EXECUTE FUNCTION trading_told_execution();
"""

# Of an order its events follow on each other; its last one is what the order says.
EVENTS = trigger_function(
    "trading_follow_events",
    "trading_orderevent",
    f"""
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR NO KEY UPDATE;
    IF (SELECT bool_and(kind = 'PHASE_CHANGED') FROM entered) THEN
        IF EXISTS (SELECT FROM entered e
            LEFT JOIN trading_market m ON m.token_id = e.token_id
            WHERE (e.number = m.last_event AND e.phase = m.phase
                AND e.at = m.phase_since) IS NOT TRUE) THEN
            RAISE EXCEPTION 'A market''s phase changes by trading_change_phase.'
                {RESTRICTED};
        END IF;
        RETURN NULL;
    END IF;
    WITH linked AS (
        SELECT e.*, m.token_id IS NOT NULL
                AND e.number = m.last_event + row_number() OVER by_number
                AND e.at = lag(e.at, 1, e.at) OVER by_number AND e.at >= m.last_at
                AND e.at <= greatest(m.last_at, clock_timestamp()) AS follows,
            lag(e.kind) OVER by_order AS kind_before,
            lag(e.filled) OVER by_order AS filled_before,
            lag(e.value) OVER by_order AS value_before,
            lag(e.remaining) OVER by_order AS remaining_before,
            lead(e.number) OVER by_order IS NULL AS is_last
        FROM entered e LEFT JOIN trading_market m ON m.token_id = e.token_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number),
            by_order AS (PARTITION BY e.order_id, e.kind = 'TRADE_BUSTED'
                ORDER BY e.number)
    ), judged AS (
        SELECT e.number, e.token_id, e.follows
            AND o.token_id = e.token_id
            AND CASE e.kind
            WHEN 'ORDER_ACCEPTED' THEN p.kind IS NULL AND e.filled = 0 AND e.value = 0
                AND e.remaining = e.quantity AND e.priority = e.number
                AND o.quantity = e.quantity AND o.limit_price = e.price
                AND o.priority = e.number AND o.created_at = e.at
            WHEN 'ORDER_AMENDED' THEN p.remaining > 0 AND e.filled = p.filled
                AND e.value = p.value AND e.remaining = e.quantity - e.filled
                AND e.remaining > 0 AND o.quantity = e.quantity
                AND o.limit_price = e.price AND o.priority = e.priority
                AND e.priority = (
                    SELECT CASE WHEN e.price = a.price AND e.quantity <= a.quantity
                        THEN a.priority ELSE e.number END
                    FROM trading_orderevent a
                    WHERE a.order_id = e.order_id AND a.number < e.number
                        AND a.kind IN ('ORDER_ACCEPTED', 'ORDER_AMENDED')
                    ORDER BY a.number DESC LIMIT 1)
            WHEN 'ORDER_TRADED' THEN e.filled = p.filled + e.quantity
                AND e.value = p.value + e.price * e.quantity
                AND e.remaining = p.remaining - e.quantity AND e.remaining >= 0
                AND x.price = e.price AND x.quantity = e.quantity AND x.at = e.at
                AND e.order_id = CASE
                    WHEN e.number = x.event THEN
                        CASE x.aggressor WHEN 0 THEN x.buy_order_id ELSE x.sell_order_id
                        END
                    WHEN e.number = x.event - 1 THEN
                        CASE x.aggressor WHEN 0 THEN x.sell_order_id ELSE x.buy_order_id
                        END END
            WHEN 'TRADE_BUSTED' THEN b.sequence IS NOT NULL AND e.price = x.price
                AND e.quantity = x.quantity
                AND e.order_id = CASE e.number WHEN b.event THEN x.buy_order_id
                    WHEN b.event + 1 THEN x.sell_order_id END
            WHEN 'PHASE_CHANGED' THEN FALSE
            ELSE e.filled = p.filled AND e.value = p.value
                AND e.remaining = p.remaining AND p.remaining > 0
                AND p.kind NOT IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') END
            AND (NOT e.is_last OR e.kind = 'TRADE_BUSTED' OR o.last_event = e.number
                AND o.updated_at = e.at AND o.filled = e.filled
                AND o.filled_value = e.value AND o.quantity = e.filled + e.remaining
                AND o.status = CASE e.kind WHEN 'ORDER_CANCELLED' THEN 'CANCELLED'
                    WHEN 'ORDER_EXPIRED' THEN 'EXPIRED' ELSE
                    CASE e.remaining WHEN 0 THEN 'FILLED' ELSE 'OPEN' END END
                AND coalesce(o.status_reason, '') = e.reason) AS follows
        FROM linked e
        LEFT JOIN trading_order o ON o.id = e.order_id
        LEFT JOIN LATERAL (
            SELECT e.kind_before AS kind, e.filled_before AS filled,
                e.value_before AS value, e.remaining_before AS remaining
            WHERE e.kind_before IS NOT NULL
            UNION ALL
            (SELECT a.kind, a.filled, a.value, a.remaining FROM trading_orderevent a
            WHERE a.order_id = e.order_id AND a.number < e.number
                AND e.kind_before IS NULL AND e.kind <> 'ORDER_ACCEPTED'
                AND a.kind <> 'TRADE_BUSTED'
            ORDER BY a.number DESC LIMIT 1)
        ) p ON TRUE
        LEFT JOIN trading_execution x
            ON x.token_id = e.token_id AND x.sequence = e.trade
        LEFT JOIN trading_bust b ON b.token_id = e.token_id AND b.sequence = e.trade
            AND e.kind = 'TRADE_BUSTED'
    )
    SELECT format('event %s of token %s', number, token_id) INTO wrong
    FROM judged WHERE follows IS NOT TRUE ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The market''s next event has the next number, follows on the '
            'order''s last one and on its trade, and is what the order says: %.', wrong
            {RESTRICTED};
    END IF;
    SELECT format('token %s, side %s, %s cents', l.token_id, l.side, l.limit_price)
    INTO wrong
    FROM (
        SELECT DISTINCT o.token_id, o.side, o.limit_price
        FROM entered e JOIN trading_order o ON o.id = e.order_id
        WHERE e.kind <> 'TRADE_BUSTED'
    ) l
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = l.token_id AND o.side = l.side
            AND o.limit_price = l.limit_price AND o.status = 'OPEN'
    ) s
    WHERE s.units <> coalesce((
        SELECT b.quantity FROM marketdata_booklevel b WHERE b.token_id = l.token_id
            AND b.side = l.side AND b.price_cents = l.limit_price), 0)
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders: %.', wrong {RESTRICTED};
    END IF;
    UPDATE trading_market m SET last_event = e.number, last_at = e.at
        FROM (SELECT token_id, max(number) AS number, max(at) AS at
              FROM entered GROUP BY token_id) e
        WHERE m.token_id = e.token_id;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER trading_follow_events AFTER INSERT ON trading_orderevent
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION trading_follow_events();
"""

# Nobody else may write the log of such a book: it would not be its orders.
BOOK = trigger_function(
    "trading_book_is_orders",
    "marketdata_bookchange",
    f"""
    SELECT format('token %s, side %s, %s cents', c.token_id, c.side, c.price_cents)
    INTO wrong
    FROM (
        SELECT DISTINCT ON (e.token_id, e.side, e.price_cents) e.token_id, e.side,
            e.price_cents, e.quantity
        FROM entered e JOIN marketdata_orderbookhead h
            ON h.token_id = e.token_id AND h.source = 'OWN'
        ORDER BY e.token_id, e.side, e.price_cents, e.sequence DESC
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(o.quantity - o.filled), 0) AS units FROM trading_order o
        WHERE o.token_id = c.token_id AND o.side = c.side
            AND o.limit_price = c.price_cents AND o.status = 'OPEN'
    ) s
    WHERE c.quantity <> s.units
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The book is its open orders; a market of ours is fed by '
            'nothing else: %.', wrong {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER trading_book_is_orders AFTER INSERT ON marketdata_bookchange
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION trading_book_is_orders();
"""

TAPE = trigger_function(
    "trading_tape_is_executions",
    "marketdata_trade",
    f"""
    SELECT format('trade %s of token %s', e.sequence, e.token_id) INTO wrong
    FROM entered e JOIN marketdata_orderbookhead h
        ON h.token_id = e.token_id AND h.source = 'OWN'
    LEFT JOIN trading_execution x
        ON x.token_id = e.token_id AND x.sequence = e.sequence
    WHERE (x.price = e.price_cents AND x.quantity = e.quantity) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'The tape of a market of ours has its executions, and nothing '
            'else: %.', wrong {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="wrong text;",
    settings=BY_INDEX,
) + """
CREATE TRIGGER trading_tape_is_executions AFTER INSERT ON marketdata_trade
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION trading_tape_is_executions();
"""

# Units move for cash, cash for units; both go back together.
UNITS = trigger_function(
    "trading_settles_units",
    "issuers_ledgertransaction",
    f"""
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id {RESTRICTED};
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only bust_trade undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_settles_units AFTER INSERT ON issuers_ledgertransaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind = 'TRADE' OR NEW.kind = 'REVERSAL')
    EXECUTE FUNCTION trading_settles_units();
"""

CASH = trigger_function(
    "trading_settles_cash",
    "accounts_cashtransaction",
    f"""
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id {RESTRICTED};
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only bust_trade undoes it, with its '
            'units.', NEW.reverses_id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_settles_cash AFTER INSERT ON accounts_cashtransaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.kind = 'TRADE' OR NEW.kind = 'REVERSAL')
    EXECUTE FUNCTION trading_settles_cash();
"""

BUSTS = trigger_function(
    "trading_told_bust",
    "trading_bust",
    f"""
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
            {RESTRICTED};
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
            {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="used uuid;",
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_told_bust AFTER INSERT ON trading_bust
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION trading_told_bust();
"""

# Whoever is no client any more has no order that could trade. Orders are placed under
# a lock of their accounts, so that none comes unseen.
ACCOUNT_AT_COMMIT = trigger_function(
    "trading_left_active",
    "accounts_accountstatuschange",
    f"""
    IF EXISTS (SELECT FROM accounts_account a
        JOIN trading_order o ON o.account_id = a.id AND o.status = 'OPEN'
        WHERE a.id = NEW.account_id AND a.status <> 'ACTIVE') THEN
        RAISE EXCEPTION 'Account % is not ACTIVE any more and has orders that are OPEN: '
            'they end in the same transaction.', NEW.account_id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    settings=BY_INDEX,
) + """
CREATE CONSTRAINT TRIGGER trading_left_active
    AFTER INSERT ON accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.status <> 'ACTIVE') EXECUTE FUNCTION trading_left_active();
"""

# Of a trade's entry, and of the price that is recorded anew, its bust has been approved.
ENTRIES = approvals.ENTRIES.partition("\nCREATE CONSTRAINT TRIGGER")[0].replace(
    "    PERFORM approvals_use(",
    """    IF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE') THEN
        RETURN NULL;
    END IF;
    PERFORM approvals_use(""",
)
PRICES = approvals.PRICES.partition("\nCREATE CONSTRAINT TRIGGER")[0].replace(
    "    SELECT coalesce(max(p.number), 0)",
    """    IF EXISTS (
        SELECT FROM trading_bust b
        JOIN trading_execution x ON x.token_id = b.token_id AND x.sequence = b.sequence
        JOIN issuers_ledgertransaction l ON l.token_id = x.token_id
            AND l.seq = x.ledger_seq
        JOIN issuers_ledgertransaction r ON r.token_id = b.token_id
            AND r.seq = b.ledger_seq AND r.effective_at = NEW.effective_at
        JOIN issuers_tokenprice p ON p.token_id = x.token_id
            AND p.number = NEW.number - 1 AND p.source = 'TRADE'
            AND p.effective_at = l.effective_at AND p.price_cents = x.price
        JOIN issuers_tokenprice o ON o.token_id = x.token_id
            AND o.number = NEW.number - 2 AND o.price_cents = NEW.price_cents
        WHERE b.token_id = NEW.token_id AND NEW.source = 'MANUAL') THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(max(p.number), 0)""",
)

APPENDED = ("execution", "bust", "orderevent")
REFUSE = "".join(
    f"CREATE TRIGGER trading_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON"
    f" trading_{table} FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change();"
    for table in APPENDED
) + "".join(
    f"CREATE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON"
    f" trading_{table} FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change();"
    for table in ("order", "market")
)
ALLOW = "".join(
    f"DROP TRIGGER trading_refuse_change ON trading_{table};" for table in APPENDED
) + "".join(
    f"DROP TRIGGER trading_refuse_removal ON trading_{table};"
    for table in ("order", "market")
)

# Open orders are a queue, whose ends are dead entries of indexes until a vacuum. Where
# one account has a side of nearly all trades, lists of others still go by the index.
STORAGE = """
ALTER TABLE trading_order SET (fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0);
ALTER TABLE trading_market SET (fillfactor = 10,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE trading_orderevent SET (autovacuum_vacuum_insert_scale_factor = 0.02);
ALTER TABLE trading_execution SET (autovacuum_vacuum_insert_scale_factor = 0.02),
    ALTER COLUMN buyer_account_id SET (n_distinct = -0.1),
    ALTER COLUMN seller_account_id SET (n_distinct = -0.1)
"""
USUAL_STORAGE = """
ALTER TABLE trading_order RESET (fillfactor, autovacuum_vacuum_scale_factor,
    autovacuum_vacuum_threshold, autovacuum_vacuum_cost_delay);
ALTER TABLE trading_market RESET (fillfactor, autovacuum_vacuum_scale_factor,
    autovacuum_vacuum_threshold);
ALTER TABLE trading_orderevent RESET (autovacuum_vacuum_insert_scale_factor);
ALTER TABLE trading_execution RESET (autovacuum_vacuum_insert_scale_factor),
    ALTER COLUMN buyer_account_id RESET (n_distinct),
    ALTER COLUMN seller_account_id RESET (n_distinct)
"""


def guard(statements, name, table):
    return migrations.RunSQL(statements, drop(f"{name}()", triggers={name: table}))


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0001_trading"),
        ("marketdata", "0013_own_books"),
        ("accounts", "0025_approvals_of_markets"),
        ("issuers", "0037_reserved_is_validated"),
    ]

    operations = [
        migrations.RunSQL(
            LOCK + OPEN + CHANGE_PHASE,
            drop(
                "trading_lock(uuid[])",
                "trading_open(uuid, time, time, boolean, timestamptz, bigint, bigint,"
                " integer, bigint, text)",
                "trading_change_phase(uuid, text, text, timestamptz, bigint, text,"
                " text)",
            ),
        ),
        guard(PLACE, "trading_follow_placed", "trading_order"),
        guard(CHANGE, "trading_follow_changed", "trading_order"),
        guard(ORDER_AT_COMMIT, "trading_told_order", "trading_order"),
        guard(EXECUTE, "trading_follow_executions", "trading_execution"),
        guard(EXECUTION_AT_COMMIT, "trading_told_execution", "trading_execution"),
        guard(EVENTS, "trading_follow_events", "trading_orderevent"),
        guard(BOOK, "trading_book_is_orders", "marketdata_bookchange"),
        guard(TAPE, "trading_tape_is_executions", "marketdata_trade"),
        guard(UNITS, "trading_settles_units", "issuers_ledgertransaction"),
        guard(CASH, "trading_settles_cash", "accounts_cashtransaction"),
        guard(BUSTS, "trading_told_bust", "trading_bust"),
        guard(
            ACCOUNT_AT_COMMIT, "trading_left_active", "accounts_accountstatuschange"
        ),
        migrations.RunSQL(
            ENTRIES + PRICES,
            approvals.ENTRIES.partition("\nCREATE CONSTRAINT TRIGGER")[0]
            + approvals.PRICES.partition("\nCREATE CONSTRAINT TRIGGER")[0],
        ),
        migrations.RunSQL(REFUSE, ALLOW),
        migrations.RunSQL(STORAGE, USUAL_STORAGE),
    ]

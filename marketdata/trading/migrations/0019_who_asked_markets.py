"""Who asked markets."""

from django.db import migrations

FORWARD = r"""
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
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
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
        IF market.session_opens = market.session_closes OR opens_at = changed_at
            OR closes_at < opens_at THEN
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
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
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
    refers_to bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
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
        PERFORM approvals_use('REOPEN', jsonb_build_object('token', token,
            'phase', wanted, 'halted', market.last_phase_event), NULL, NULL, NULL);
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
    changed_at := greatest(market.last_at, clock_timestamp());
    IF wanted = 'CONTINUOUS' THEN
        SELECT min(s.opens) FILTER (WHERE s.opens >= changed_at),
            min(s.closes) FILTER (WHERE s.closes > changed_at)
        INTO opens_at, follows_at
        FROM (SELECT (changed_at AT TIME ZONE market_time_zone())::date + n AS day
              FROM generate_series(0, 4) AS n) d
        CROSS JOIN LATERAL (SELECT
            (d.day + market.session_opens) AT TIME ZONE market_time_zone() AS opens,
            (d.day + market.session_closes) AT TIME ZONE market_time_zone() AS closes
        ) s
        WHERE NOT (market.weekdays_only AND extract(isodow FROM d.day) > 5);
        IF market.session_opens <> market.session_closes
            AND opens_at > changed_at AND opens_at <= follows_at THEN
            RAISE EXCEPTION 'A market is CONTINUOUS in its session, which begins at %.',
                opens_at USING ERRCODE = 'restrict_violation';
        END IF;
        follows := 'CLOSED';
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
END $$;
REVOKE ALL ON FUNCTION public.trading_change_phase(uuid, text, text, timestamp with time zone, bigint, text, text) FROM PUBLIC;

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
        WHEN 'BY_PARTNER' THEN e.actor
            = (SELECT p.login FROM accounts_partner p WHERE p.id = o.partner_id)
        WHEN 'BY_STAFF' THEN EXISTS (SELECT FROM accounts_user u
            WHERE u.email = e.actor AND u.is_staff AND u.is_active)
        WHEN 'IMMEDIATE_OR_CANCEL' THEN o.time_in_force = 'IOC'
            AND o.created_at = judged_at
        WHEN 'FILL_OR_KILL' THEN o.time_in_force = 'FOK' AND o.filled = 0
        WHEN 'SELF_TRADE' THEN EXISTS (
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
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
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

DROP FUNCTION public.trading_could_fill(uuid, uuid, bigint, bigint, timestamp with time zone);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0018_triggers_tell_no_more"),
        ("issuers", "0073_who_asked_markets"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

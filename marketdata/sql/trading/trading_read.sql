-- Reads, as one object, what the requests of a call can reach in a market: the market,
-- its ledger, the clients, the best `most` resting orders of each side up to the units
-- wanted, units and cash of all these, and what the requests are compared with. `own`
-- are orders to amend. With `holds`, after it has locked them. Without, it locks and
-- writes nothing; a client without a ledger account then has account 0. `is_over`: a
-- call that takes orders no more. NULL: no market. Where an offering settles with the
-- cash of one of them, only `settling`: the seconds.
-- called by: application
-- raises: restrict_violation
-- locks: accounts_account (FOR SHARE), accounts_cashhead (FOR NO KEY UPDATE),
--     issuers_ledgeraccount (FOR SHARE), issuers_tokenledgerhead (FOR UPDATE),
--     marketdata_orderbookhead (FOR NO KEY UPDATE),
--     orders of partner (advisory, shared)
CREATE OR REPLACE FUNCTION public.trading_read(
    of_token uuid, accounts uuid[], sides smallint[], prices bigint[], client_ids text[],
    bid bigint, ask bigint, most integer, buys_wanted numeric, sells_wanted numeric,
    own uuid[], most_open integer, holds boolean
)
RETURNS json LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
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
REVOKE ALL ON FUNCTION public.trading_read(uuid, uuid[], smallint[], bigint[], text[],
    bigint, bigint, integer, numeric, numeric, uuid[], integer, boolean) FROM PUBLIC;

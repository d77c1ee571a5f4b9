-- The next events of a market follow on the last ones, on their orders and trades; the
-- book is its OPEN orders.
-- called by: triggers
-- raises: insufficient_privilege, restrict_violation
-- locks: marketdata_orderbookhead (FOR NO KEY UPDATE)
CREATE OR REPLACE FUNCTION public.trading_follow_events()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_follow_events guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM marketdata_orderbookhead
        WHERE token_id IN (SELECT token_id FROM entered)
        ORDER BY token_id FOR NO KEY UPDATE;
    IF (SELECT bool_and(kind = 'PHASE_CHANGED') FROM entered) THEN
        IF EXISTS (SELECT FROM entered e
            LEFT JOIN trading_market m ON m.token_id = e.token_id
            WHERE (e.number = m.last_event AND e.phase = m.phase
                AND e.at = m.phase_since) IS NOT TRUE) THEN
            RAISE EXCEPTION 'A market''s phase changes by trading_change_phase.'
                USING ERRCODE = 'restrict_violation';
        END IF;
        RETURN NULL;
    END IF;
    WITH linked AS (
        SELECT e.*, m.token_id IS NOT NULL
                AND e.number = m.last_event + row_number() OVER by_number
                AND e.at = lag(e.at, 1, e.at) OVER by_number AND e.at >= m.last_at
                AND e.at <= greatest(m.last_at, clock_timestamp()) AS follows,
            m.phase = 'CONTINUOUS' AND (m.next_phase_at > e.at) IS NOT FALSE
                AND r.hold_transaction = (SELECT register_transaction(0))
                AND (r.hold_at > e.at) IS NOT TRUE AS is_taken,
            lag(e.kind) OVER by_order AS kind_before,
            lag(e.filled) OVER by_order AS filled_before,
            lag(e.value) OVER by_order AS value_before,
            lag(e.remaining) OVER by_order AS remaining_before,
            lead(e.number) OVER by_order IS NULL AS is_last
        FROM entered e LEFT JOIN trading_market m ON m.token_id = e.token_id
        LEFT JOIN issuers_tokenledgerhead r ON r.token_id = e.token_id
        WINDOW by_number AS (PARTITION BY e.token_id ORDER BY e.number),
            by_order AS (PARTITION BY e.order_id, e.kind = 'TRADE_BUSTED'
                ORDER BY e.number)
    ), judged AS (
        SELECT e.number, e.token_id, e.follows
            AND o.token_id = e.token_id
            AND CASE e.kind
            WHEN 'ORDER_ACCEPTED' THEN e.is_taken AND p.kind IS NULL AND e.filled = 0 AND e.value = 0
                AND e.remaining = e.quantity AND e.priority = e.number
                AND o.quantity = e.quantity AND o.limit_price = e.price
                AND o.priority = e.number AND o.created_at = e.at
            WHEN 'ORDER_AMENDED' THEN e.is_taken AND p.remaining > 0 AND e.filled = p.filled
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
            USING ERRCODE = 'restrict_violation';
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
        RAISE EXCEPTION 'The book is its open orders: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE trading_market m SET last_event = e.number, last_at = e.at
        FROM (SELECT token_id, max(number) AS number, max(at) AS at
              FROM entered GROUP BY token_id) e
        WHERE m.token_id = e.token_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_follow_events() FROM PUBLIC;

CREATE OR REPLACE TRIGGER trading_follow_events AFTER INSERT
    ON public.trading_orderevent REFERENCING NEW TABLE AS entered FOR EACH STATEMENT
    WHEN (public.accounts_written_directly())
    EXECUTE FUNCTION public.trading_follow_events();

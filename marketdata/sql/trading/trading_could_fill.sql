-- Whether an order that was killed met enough units of other users, before one of its
-- own user. Of orders that a rule or a restriction may refuse it counts none.
-- called by: trading_judge_endings
CREATE OR REPLACE FUNCTION public.trading_could_fill(
    of_token uuid, killed uuid, killed_event bigint, since_event bigint,
    judged_at timestamp with time zone
)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
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
REVOKE ALL ON FUNCTION public.trading_could_fill(uuid, uuid, bigint, bigint, timestamp
    with time zone) FROM PUBLIC;

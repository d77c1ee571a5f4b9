"""A timer of a partner cancels its orders."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_cancel_after(of_partner uuid, seconds integer, asked_by text)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_variable
DECLARE
    at timestamptz := clock_timestamp() + make_interval(secs => nullif(seconds, 0));
BEGIN
    IF NOT EXISTS (SELECT FROM accounts_partner p
            WHERE p.id = of_partner AND p.login = asked_by) OR seconds < 0 THEN
        RAISE EXCEPTION 'A partner starts its own timer: %.', of_partner
            USING ERRCODE = 'restrict_violation';
    END IF;
    INSERT INTO trading_canceltimer AS t (partner_id, fires_at)
    VALUES (of_partner, at)
    ON CONFLICT (partner_id) DO UPDATE SET fires_at = excluded.fires_at;
    RETURN at;
END $$;
REVOKE ALL ON FUNCTION public.trading_cancel_after(uuid, integer, text) FROM PUBLIC;

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
"""

BACKWARD = r"""
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

DROP FUNCTION public.trading_cancel_after(uuid, integer, text);

DROP FUNCTION public.trading_fire(uuid);
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0024_cancel_timer"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

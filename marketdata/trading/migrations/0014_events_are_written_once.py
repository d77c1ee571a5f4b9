"""Events are written once."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_count_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_count_orders guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    ELSE
        PERFORM accounts_count(array_agg(list), array_agg(key), array_agg(-number))
        FROM (SELECT 'orders'::text AS list, partner_id AS key, count(*) AS number
            FROM changed GROUP BY partner_id
            UNION ALL
            SELECT 'accountOrders', account_id, count(*) FROM changed
            GROUP BY account_id) c
        HAVING count(*) > 0;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tell_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(o.partner_id ORDER BY e.token_id, e.number),
        array_agg(e.kind::text ORDER BY e.token_id, e.number),
        array_agg(o.id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.token_id ORDER BY e.token_id, e.number),
        array_agg(o.account_id ORDER BY e.token_id, e.number), NULL,
        array_agg(e.number ORDER BY e.token_id, e.number),
        array_agg(e.price ORDER BY e.token_id, e.number),
        array_agg(e.quantity ORDER BY e.token_id, e.number),
        array_agg(e.remaining ORDER BY e.token_id, e.number),
        array_agg(e.trade ORDER BY e.token_id, e.number),
        array_agg(CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED')
            THEN e.reason END ORDER BY e.token_id, e.number))
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tell_registers()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    told_now bigint;
    tokens uuid[];
    sequences bigint[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('registers that moved', 0)) THEN
        RETURN 0;
    END IF;
    WITH moved AS (
        INSERT INTO trading_registertold AS r (token_id, ledger_seq)
        SELECT m.token_id, h.last_seq FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold told ON told.token_id = m.token_id
        WHERE EXISTS (SELECT FROM issuers_ledgertransaction l
            WHERE l.token_id = m.token_id AND l.kind = 'TRADE'
                AND l.seq > coalesce(told.ledger_seq, 0))
        ORDER BY m.token_id
        ON CONFLICT (token_id) DO UPDATE SET ledger_seq = excluded.ledger_seq
        RETURNING r.token_id, r.ledger_seq
    )
    SELECT count(*), array_agg(m.token_id ORDER BY m.token_id),
        array_agg(m.ledger_seq ORDER BY m.token_id) INTO told_now, tokens, sequences
    FROM moved m;
    PERFORM events_write(array_fill('GRANTED'::text, ARRAY[told_now::integer]), NULL,
        array_fill('REGISTER_CHANGED'::text, ARRAY[told_now::integer]), tokens, NULL,
        tokens, NULL, sequences);
    RETURN told_now;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_registers() FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_count_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'trading_order'::regclass THEN
        RAISE EXCEPTION 'trading_count_orders guards trading_order, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'orders', partner_id, count(*) FROM changed GROUP BY partner_id UNION ALL SELECT 'accountOrders', account_id, count(*) FROM changed GROUP BY account_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'orders', partner_id, -count(*) FROM changed GROUP BY partner_id UNION ALL SELECT 'accountOrders', account_id, -count(*) FROM changed GROUP BY account_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tell_orders()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_orderevent'::regclass THEN
        RAISE EXCEPTION 'trading_tell_orders guards trading_orderevent, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id, type,
        subject_id, issuer_id, token_id, account_id, order_id, order_event, price,
        quantity, remaining, trade, reason)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'PARTNER', o.partner_id, e.kind,
        md5(concat_ws(' ', e.token_id, e.number))::uuid, t.issuer_id, e.token_id,
        o.account_id, o.id, e.number, e.price, e.quantity, e.remaining, e.trade,
        CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') THEN e.reason END
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id, e.number;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_orders() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_tell_registers()
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
#variable_conflict use_column
DECLARE
    told_now bigint;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('registers that moved', 0)) THEN
        RETURN 0;
    END IF;
    WITH moved AS (
        INSERT INTO trading_registertold AS r (token_id, ledger_seq)
        SELECT m.token_id, h.last_seq FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold told ON told.token_id = m.token_id
        WHERE EXISTS (SELECT FROM issuers_ledgertransaction l
            WHERE l.token_id = m.token_id AND l.kind = 'TRADE'
                AND l.seq > coalesce(told.ledger_seq, 0))
        ORDER BY m.token_id
        ON CONFLICT (token_id) DO UPDATE SET ledger_seq = excluded.ledger_seq
        RETURNING r.token_id, r.ledger_seq
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id, token_id, ledger_sequence)
    SELECT pg_current_xact_id()::text::bigint, row_number() OVER () = 1, 'GRANTED', 'REGISTER_CHANGED',
        m.token_id, t.issuer_id, m.token_id, m.ledger_seq
    FROM moved m JOIN issuers_token t ON t.id = m.token_id ORDER BY m.token_id;
    GET DIAGNOSTICS told_now = ROW_COUNT;
    RETURN told_now;
END $$;
REVOKE ALL ON FUNCTION public.trading_tell_registers() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0013_reworded_refusals"),
        ("accounts", "0052_events_are_written_once"),
        ("issuers", "0066_events_are_written_once"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

"""Contract: no trigger repeats what a writer does, and one of a table does what two did."""

from django.db import migrations

FORWARD = r"""
DROP FUNCTION public.approvals_used_rested();

DROP FUNCTION public.events_cash_changed();

DROP FUNCTION public.events_grant_changed();

DROP FUNCTION public.events_investor_changed();

DROP FUNCTION public.events_legacy_delivered();

DROP FUNCTION public.events_price_changed();

DROP FUNCTION public.events_register_changed();

DROP FUNCTION public.events_withdrawal_changed();

DROP FUNCTION public.register_keep_account();

DROP FUNCTION public.register_keep_grants();

DROP FUNCTION public.register_keep_head();

DROP FUNCTION public.register_keep_open();

DROP FUNCTION public.trading_count_day_anew();

DROP FUNCTION public.update_issuer_time();

DROP FUNCTION public.update_legacy_time();

DROP FUNCTION public.update_token_time();
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.approvals_used_rested()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'accounts_approvaloutcome'::regclass THEN
        RAISE EXCEPTION 'approvals_used_rested guards accounts_approvaloutcome, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = NEW.request_id;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.approvals_used_rested() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_cash_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'events_cash_changed guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered t
        JOIN accounts_cashaccount c ON c.id IN (t.source_id, t.target_id)
        WHERE t.kind <> 'TRADE') e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_cash_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_grant_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'events_grant_changed guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(g.partner_id),
        array_agg('GRANT_CHANGED'::text), array_agg(g.issuer_id),
        array_agg(g.issuer_id), NULL, NULL)
    FROM (SELECT OLD.partner_id, OLD.issuer_id WHERE OLD.partner_id IS NOT NULL
          UNION SELECT NEW.partner_id, NEW.issuer_id WHERE NEW.partner_id IS NOT NULL
    ) g
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_grant_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_investor_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_investorchange'::regclass THEN
        RAISE EXCEPTION 'events_investor_changed guards accounts_investorchange, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('INVESTOR_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT o.id AS account_id FROM entered i
        JOIN accounts_account o ON o.user_id = i.user_id
        WHERE o.status NOT IN ('CLOSED', 'REJECTED')) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_investor_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_legacy_delivered()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'events_legacy_delivered guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY e.ledger_seq), NULL,
        array_agg('LEGACY_SHARES_DELIVERED'::text ORDER BY e.ledger_seq),
        array_agg(e.id ORDER BY e.ledger_seq),
        array_agg(e.issuer_id ORDER BY e.ledger_seq),
        array_agg(e.token_id ORDER BY e.ledger_seq), NULL,
        array_agg(e.ledger_seq ORDER BY e.ledger_seq))
    FROM entered e WHERE e.status = 'DELIVERED'
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_legacy_delivered() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_price_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenprice'::regclass THEN
        RAISE EXCEPTION 'events_price_changed guards issuers_tokenprice, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg(CASE t.visibility WHEN 'PUBLIC' THEN 'ALL'
            ELSE 'GRANTED' END ORDER BY t.id), NULL,
        array_agg('TOKEN_PRICE_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL)
    FROM (SELECT DISTINCT token_id FROM entered WHERE source <> 'TRADE') e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_price_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_register_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'events_register_changed guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(array_agg('GRANTED'::text ORDER BY t.id), NULL,
        array_agg('REGISTER_CHANGED'::text ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), array_agg(t.issuer_id ORDER BY t.id),
        array_agg(t.id ORDER BY t.id), NULL,
        array_agg(e.seq ORDER BY t.id))
    FROM (SELECT token_id, max(seq) AS seq FROM entered WHERE kind <> 'TRADE'
        GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_register_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.events_withdrawal_changed()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_withdrawal'::regclass THEN
        RAISE EXCEPTION 'events_withdrawal_changed guards accounts_withdrawal, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM events_write(NULL, array_agg(a.partner_id ORDER BY a.id),
        array_agg('CASH_CHANGED'::text ORDER BY a.id),
        array_agg(a.id ORDER BY a.id), NULL, NULL, array_agg(a.id ORDER BY a.id))
    FROM (SELECT DISTINCT c.account_id FROM entered w
        JOIN accounts_cashaccount c ON c.id = w.cash_account_id) e
    JOIN accounts_account a ON a.id = e.account_id
    HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.events_withdrawal_changed() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_account()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgeraccount'::regclass THEN
        RAISE EXCEPTION 'register_keep_account guards issuers_ledgeraccount, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM FROM accounts_userholder
        WHERE id = NEW.holder_id AND user_id = NEW.user_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Profile % is not that of user %.', NEW.holder_id, NEW.user_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_account() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_grants()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuergrant'::regclass THEN
        RAISE EXCEPTION 'register_keep_grants guards issuers_issuergrant, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'Grant % stays with its partner and its issuer, and is not deleted. '
        'Set ended_at.', OLD.id USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_grants() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_head()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_head guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RAISE EXCEPTION 'The ledger of token % stands at entry % and price %: it never '
        'goes back, and once it is open it is never closed.', OLD.token_id,
        OLD.last_seq, OLD.last_price USING ERRCODE = 'restrict_violation';
END $$;
REVOKE ALL ON FUNCTION public.register_keep_head() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.register_keep_open()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_tokenledgerhead'::regclass THEN
        RAISE EXCEPTION 'register_keep_open guards issuers_tokenledgerhead, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF EXISTS (SELECT FROM issuers_tokenledgerhead WHERE token_id = NEW.token_id
            AND NOT is_open AND last_seq + last_price > 0) THEN
        RAISE EXCEPTION 'The history of token % is written, and its ledger is not '
            'open: more could be written before what is answered.', NEW.token_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.register_keep_open() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_count_day_anew()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'trading_bust'::regclass THEN
        RAISE EXCEPTION 'trading_count_day_anew guards trading_bust, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
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
    WHERE o.token_id = NEW.token_id
        AND NEW.sequence BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_count_day_anew() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_issuer_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_issuer'::regclass THEN
        RAISE EXCEPTION 'update_issuer_time guards issuers_issuer, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_issuer_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_legacy_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'update_legacy_time guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_legacy_time() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.update_token_time()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
AS $$
BEGIN
    IF TG_RELID <> 'issuers_token'::regclass THEN
        RAISE EXCEPTION 'update_token_time guards issuers_token, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        PERFORM pg_current_xact_id();
        NEW.updated_at := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
REVOKE ALL ON FUNCTION public.update_token_time() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0025_writers_alone"),
        ("accounts", "0057_triggers_tell_no_more"),
        ("issuers", "0070_triggers_tell_no_more"),
        ("marketdata", "0023_triggers_tell_no_more"),
        ("trading", "0018_triggers_tell_no_more"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

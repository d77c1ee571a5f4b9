"""Name commands of today."""

from django.db import migrations

FORWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_settles_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only market bust undoes it, with its '
            'units.', NEW.reverses_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_cash() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_settles_units()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_units guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only market bust undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_units() FROM PUBLIC;
"""

BACKWARD = r"""
CREATE OR REPLACE FUNCTION public.trading_settles_cash()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'accounts_cashtransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_cash guards accounts_cashtransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.cash_transaction = NEW.id) THEN
            RAISE EXCEPTION 'Payment % is of no trade: cash of a TRADE moves with an '
                'execution and an entry.', NEW.id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM accounts_cashtransaction t
            WHERE t.id = NEW.reverses_id AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.cash_transaction = NEW.id) THEN
        RAISE EXCEPTION 'Payment % is a trade''s: only bust_trade undoes it, with its '
            'units.', NEW.reverses_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_cash() FROM PUBLIC;

CREATE OR REPLACE FUNCTION public.trading_settles_units()
RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
SET enable_seqscan = 'off'
AS $$
BEGIN
    IF TG_RELID <> 'issuers_ledgertransaction'::regclass THEN
        RAISE EXCEPTION 'trading_settles_units guards issuers_ledgertransaction, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.kind = 'TRADE' THEN
        IF NOT EXISTS (SELECT FROM trading_execution x
            WHERE x.token_id = NEW.token_id AND x.ledger_seq = NEW.seq) THEN
            RAISE EXCEPTION 'Entry % of token % is of no trade: units of a TRADE move '
                'with an execution and a payment.', NEW.seq, NEW.token_id USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF EXISTS (SELECT FROM issuers_ledgertransaction t WHERE t.token_id = NEW.token_id
            AND t.seq = NEW.reverses AND t.kind = 'TRADE')
        AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = NEW.token_id AND b.ledger_seq = NEW.seq) THEN
        RAISE EXCEPTION 'Entry % of token % is a trade''s: only bust_trade undoes it, '
            'with its payment.', NEW.reverses, NEW.token_id USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION public.trading_settles_units() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0011_one_function_refuses_changes"),
        ("marketdata", "0019_name_commands_of_today"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

"""Contract: functions alone write what the release before wrote itself."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '100 ms';
LOCK TABLE public.trading_bust, public.trading_execution, public.trading_market, public.trading_order, public.trading_orderevent IN ACCESS EXCLUSIVE MODE;

-- From here on functions alone write these tables.
DO $revoke$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT c.oid::regclass AS of, a.grantee::regrole AS role
        FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
        WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN (
            'trading_bust',
            'trading_execution',
            'trading_order',
            'trading_orderevent')
            AND a.grantee NOT IN (0, c.relowner)
            AND a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE')
    LOOP
        EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON %s FROM %s', given.of,
            given.role);
    END LOOP;
END $revoke$;

DROP TRIGGER refuse_snapshot ON public.trading_bust;

DROP TRIGGER trading_refuse_change ON public.trading_bust;

DROP TRIGGER refuse_snapshot ON public.trading_execution;

DROP TRIGGER trading_follow_executions ON public.trading_execution;

DROP TRIGGER trading_refuse_change ON public.trading_execution;

DROP TRIGGER trading_told_execution ON public.trading_execution;

DROP TRIGGER trading_refuse_removal ON public.trading_market;

DROP TRIGGER refuse_snapshot ON public.trading_order;

DROP TRIGGER trading_count_orders ON public.trading_order;

DROP TRIGGER trading_count_orders_less ON public.trading_order;

DROP TRIGGER trading_follow_changed ON public.trading_order;

DROP TRIGGER trading_follow_placed ON public.trading_order;

DROP TRIGGER trading_refuse_removal ON public.trading_order;

DROP TRIGGER trading_told_order ON public.trading_order;

DROP TRIGGER refuse_snapshot ON public.trading_orderevent;

DROP TRIGGER trading_follow_events ON public.trading_orderevent;

DROP TRIGGER trading_refuse_change ON public.trading_orderevent;

DROP TRIGGER trading_tell_orders ON public.trading_orderevent;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '100 ms';
LOCK TABLE public.trading_bust, public.trading_execution, public.trading_market, public.trading_order, public.trading_orderevent IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.trading_bust FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_bust FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.trading_execution FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER trading_follow_executions AFTER INSERT ON public.trading_execution REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_follow_executions();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_execution FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS trading_told_execution ON public.trading_execution;
CREATE CONSTRAINT TRIGGER trading_told_execution AFTER INSERT ON public.trading_execution DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_told_execution();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_market FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.trading_order FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER trading_count_orders AFTER INSERT ON public.trading_order REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_count_orders();
ALTER TABLE public.trading_order ENABLE ALWAYS TRIGGER trading_count_orders;

CREATE OR REPLACE TRIGGER trading_count_orders_less AFTER DELETE ON public.trading_order REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.trading_count_orders();
ALTER TABLE public.trading_order ENABLE ALWAYS TRIGGER trading_count_orders_less;

CREATE OR REPLACE TRIGGER trading_follow_changed AFTER UPDATE ON public.trading_order REFERENCING OLD TABLE AS was NEW TABLE AS became FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_follow_changed();

CREATE OR REPLACE TRIGGER trading_follow_placed AFTER INSERT ON public.trading_order REFERENCING NEW TABLE AS came FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_follow_placed();

CREATE OR REPLACE TRIGGER trading_refuse_removal BEFORE DELETE OR TRUNCATE ON public.trading_order FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

DROP TRIGGER IF EXISTS trading_told_order ON public.trading_order;
CREATE CONSTRAINT TRIGGER trading_told_order AFTER INSERT OR UPDATE ON public.trading_order DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_told_order();

CREATE OR REPLACE TRIGGER refuse_snapshot BEFORE INSERT OR DELETE OR UPDATE ON public.trading_orderevent FOR EACH STATEMENT WHEN (current_setting('transaction_isolation') <> 'read committed') EXECUTE FUNCTION public.accounts_refuse_snapshot();

CREATE OR REPLACE TRIGGER trading_follow_events AFTER INSERT ON public.trading_orderevent REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_follow_events();

CREATE OR REPLACE TRIGGER trading_refuse_change BEFORE DELETE OR UPDATE OR TRUNCATE ON public.trading_orderevent FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_refuse_change();

CREATE OR REPLACE TRIGGER trading_tell_orders AFTER INSERT ON public.trading_orderevent REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.trading_tell_orders();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0015_executions_by_time"),
        ("accounts", "0053_writers_alone"),
        ("issuers", "0068_writers_alone"),
        ("marketdata", "0022_writers_alone"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

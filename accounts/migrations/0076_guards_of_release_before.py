"""Triggers judge what the release before writes itself, and not what functions do."""

from django.db import migrations

# A call that began with a function of before ends first: it leaves to a trigger what
# the function does now.
WAIT = """
DO $$
DECLARE
    writers text[];
    still text[];
BEGIN
    LOOP
        SELECT array_agg(l.virtualtransaction) INTO still FROM pg_locks l
        WHERE l.locktype = 'relation' AND l.pid <> pg_backend_pid()
            AND l.database = (
                SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND l.mode IN ('RowShareLock', 'RowExclusiveLock')
            AND (writers IS NULL OR l.virtualtransaction = ANY (writers));
        EXIT WHEN still IS NULL;
        writers := still;
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$
"""

FORWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER IF EXISTS accounts_begin_history ON public.accounts_account;
CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT ON public.accounts_account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_begin_history();

CREATE OR REPLACE TRIGGER accounts_count_accounts AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS changed FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_count_accounts();
ALTER TABLE public.accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts;

CREATE OR REPLACE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_describe();

CREATE OR REPLACE TRIGGER accounts_follow_history AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_follow_history();

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE INSERT OR UPDATE ON public.accounts_apikey FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_keep_keys();

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_open_account();

CREATE OR REPLACE TRIGGER accounts_time_change BEFORE INSERT ON public.accounts_accountstatuschange FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.accounts_time_change();

DROP TRIGGER IF EXISTS approvals_of_closing ON public.accounts_accountstatuschange;
CREATE CONSTRAINT TRIGGER approvals_of_closing AFTER INSERT ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.is_staff AND new.status = 'CLOSED' AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_closing();

DROP TRIGGER IF EXISTS approvals_of_key ON public.accounts_apikey;
CREATE CONSTRAINT TRIGGER approvals_of_key AFTER INSERT ON public.accounts_apikey DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_key();

CREATE OR REPLACE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS opened FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.cash_open_account();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_account, public.accounts_accountstatuschange, public.accounts_apikey, public.accounts_applicant IN ACCESS EXCLUSIVE MODE;

DROP TRIGGER IF EXISTS accounts_begin_history ON public.accounts_account;
CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT ON public.accounts_account DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.accounts_begin_history();

CREATE OR REPLACE TRIGGER accounts_count_accounts AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_count_accounts();
ALTER TABLE public.accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts;

CREATE OR REPLACE TRIGGER accounts_describe BEFORE INSERT ON public.accounts_applicant FOR EACH ROW EXECUTE FUNCTION public.accounts_describe();

CREATE OR REPLACE TRIGGER accounts_follow_history AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_follow_history();

CREATE OR REPLACE TRIGGER accounts_keep_keys BEFORE INSERT OR UPDATE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_keys();

CREATE OR REPLACE TRIGGER accounts_open_account BEFORE INSERT OR UPDATE ON public.accounts_account FOR EACH ROW EXECUTE FUNCTION public.accounts_open_account();

CREATE OR REPLACE TRIGGER accounts_time_change BEFORE INSERT ON public.accounts_accountstatuschange FOR EACH ROW EXECUTE FUNCTION public.accounts_time_change();

DROP TRIGGER IF EXISTS approvals_of_closing ON public.accounts_accountstatuschange;
CREATE CONSTRAINT TRIGGER approvals_of_closing AFTER INSERT ON public.accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.is_staff AND new.status = 'CLOSED') EXECUTE FUNCTION public.approvals_of_closing();

DROP TRIGGER IF EXISTS approvals_of_key ON public.accounts_apikey;
CREATE CONSTRAINT TRIGGER approvals_of_key AFTER INSERT ON public.accounts_apikey DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.approvals_of_key();

CREATE OR REPLACE TRIGGER cash_open_account AFTER INSERT ON public.accounts_account REFERENCING NEW TABLE AS opened FOR EACH STATEMENT EXECUTE FUNCTION public.cash_open_account();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0075_accounts_by_function"),
    ]

    operations = [
        migrations.RunSQL(WAIT, migrations.RunSQL.noop),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]

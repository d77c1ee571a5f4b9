"""Contract: no trigger repeats what a writer does, and one of a table does what two did."""

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
SET LOCAL lock_timeout = '62 ms';
LOCK TABLE public.accounts_account, public.accounts_apikey, public.accounts_approvaloutcome, public.accounts_cashtransaction, public.accounts_investorchange, public.accounts_user, public.accounts_userholder, public.accounts_withdrawal IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE INSERT OR UPDATE OF is_superuser ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE OR UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.events_key_changed();

CREATE OR REPLACE TRIGGER register_keep_holder BEFORE DELETE OR UPDATE OF id, user_id ON public.accounts_userholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_holder();

CREATE OR REPLACE TRIGGER register_keep_user BEFORE DELETE OR UPDATE OF id ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.register_keep_user();

DROP TRIGGER accounts_count_accounts_less ON public.accounts_account;

DROP TRIGGER accounts_delete_no_key ON public.accounts_apikey;

DROP TRIGGER events_key_rights_changed ON public.accounts_apikey;

DROP TRIGGER approvals_used_rested ON public.accounts_approvaloutcome;

DROP TRIGGER events_cash_changed ON public.accounts_cashtransaction;

DROP TRIGGER events_investor_changed ON public.accounts_investorchange;

DROP TRIGGER accounts_make_superuser ON public.accounts_user;

DROP TRIGGER register_keep_user_listed ON public.accounts_user;

DROP TRIGGER register_keep_holder_listed ON public.accounts_userholder;

DROP TRIGGER events_withdrawal_changed ON public.accounts_withdrawal;

DROP TRIGGER events_withdrawal_changed_again ON public.accounts_withdrawal;
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '62 ms';
LOCK TABLE public.accounts_account, public.accounts_apikey, public.accounts_approvaloutcome, public.accounts_cashtransaction, public.accounts_investorchange, public.accounts_user, public.accounts_userholder, public.accounts_withdrawal IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER accounts_keep_superusers BEFORE UPDATE ON public.accounts_user FOR EACH ROW WHEN (new.is_superuser AND NOT old.is_superuser) EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.events_key_changed();

CREATE OR REPLACE TRIGGER register_keep_holder BEFORE UPDATE ON public.accounts_userholder FOR EACH ROW WHEN (new.user_id <> old.user_id OR new.id <> old.id) EXECUTE FUNCTION public.register_keep_holder();

CREATE OR REPLACE TRIGGER register_keep_user BEFORE UPDATE ON public.accounts_user FOR EACH ROW WHEN (new.id <> old.id) EXECUTE FUNCTION public.register_keep_user();

CREATE OR REPLACE TRIGGER accounts_count_accounts_less AFTER DELETE ON public.accounts_account REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.accounts_count_accounts();
ALTER TABLE public.accounts_account ENABLE ALWAYS TRIGGER accounts_count_accounts_less;

CREATE OR REPLACE TRIGGER accounts_delete_no_key BEFORE DELETE ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.accounts_keep_keys();

CREATE OR REPLACE TRIGGER events_key_rights_changed AFTER UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW WHEN (old.scopes IS DISTINCT FROM new.scopes OR old.expires_at IS DISTINCT FROM new.expires_at OR old.revoked_at IS DISTINCT FROM new.revoked_at) EXECUTE FUNCTION public.events_key_changed();

CREATE OR REPLACE TRIGGER approvals_used_rested AFTER INSERT ON public.accounts_approvaloutcome FOR EACH ROW WHEN (new.is_executed) EXECUTE FUNCTION public.approvals_used_rested();

CREATE OR REPLACE TRIGGER events_cash_changed AFTER INSERT ON public.accounts_cashtransaction REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_cash_changed();

CREATE OR REPLACE TRIGGER events_investor_changed AFTER INSERT ON public.accounts_investorchange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_investor_changed();

CREATE OR REPLACE TRIGGER accounts_make_superuser BEFORE INSERT ON public.accounts_user FOR EACH ROW WHEN (new.is_superuser) EXECUTE FUNCTION public.accounts_keep_superusers();

CREATE OR REPLACE TRIGGER register_keep_user_listed BEFORE DELETE ON public.accounts_user FOR EACH ROW EXECUTE FUNCTION public.register_keep_user();

CREATE OR REPLACE TRIGGER register_keep_holder_listed BEFORE DELETE ON public.accounts_userholder FOR EACH ROW EXECUTE FUNCTION public.register_keep_holder();

CREATE OR REPLACE TRIGGER events_withdrawal_changed AFTER INSERT ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_withdrawal_changed();

CREATE OR REPLACE TRIGGER events_withdrawal_changed_again AFTER UPDATE ON public.accounts_withdrawal REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_withdrawal_changed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0056_told_by_writers"),
        ("issuers", "0069_told_by_writers"),
        ("marketdata", "0022_writers_alone"),
        ("trading", "0017_told_by_writers"),
        ("partnerapi", "0025_writers_alone"),
    ]

    operations = [
        migrations.RunSQL(WAIT, migrations.RunSQL.noop),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]

"""Triggers judge what the release before writes itself, and not what functions do."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_accountstatuschange, public.accounts_apikey, public.issuers_deliveryjob, public.issuers_deliverystep IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE INSERT OR UPDATE ON public.issuers_deliveryjob FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_stays BEFORE INSERT OR UPDATE ON public.issuers_deliverystep FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER events_account_changed AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.events_account_changed();

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE OR UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.events_key_changed();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '125 ms';
LOCK TABLE public.accounts_accountstatuschange, public.accounts_apikey, public.issuers_deliveryjob, public.issuers_deliverystep IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER approvals_of_delivery BEFORE INSERT OR UPDATE ON public.issuers_deliveryjob FOR EACH ROW EXECUTE FUNCTION public.approvals_of_delivery();

CREATE OR REPLACE TRIGGER delivery_stays BEFORE INSERT OR UPDATE ON public.issuers_deliverystep FOR EACH ROW EXECUTE FUNCTION public.delivery_stays();

CREATE OR REPLACE TRIGGER events_account_changed AFTER INSERT ON public.accounts_accountstatuschange REFERENCING NEW TABLE AS entered FOR EACH STATEMENT EXECUTE FUNCTION public.events_account_changed();

CREATE OR REPLACE TRIGGER events_key_changed AFTER INSERT OR DELETE OR UPDATE OF scopes, expires_at, revoked_at ON public.accounts_apikey FOR EACH ROW EXECUTE FUNCTION public.events_key_changed();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0091_accounts_by_function"),
        ("accounts", "0076_guards_of_release_before"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

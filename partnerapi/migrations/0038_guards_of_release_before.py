"""Triggers judge what the release before writes itself, and not what functions do."""

from django.db import migrations

FORWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.partnerapi_exportmember IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER partnerapi_follow_members BEFORE INSERT ON public.partnerapi_exportmember FOR EACH ROW WHEN (public.accounts_written_directly()) EXECUTE FUNCTION public.partnerapi_follow_members();
"""

BACKWARD = r"""
SET LOCAL lock_timeout = '500 ms';
LOCK TABLE public.partnerapi_exportmember IN ACCESS EXCLUSIVE MODE;

CREATE OR REPLACE TRIGGER partnerapi_follow_members BEFORE INSERT ON public.partnerapi_exportmember FOR EACH ROW EXECUTE FUNCTION public.partnerapi_follow_members();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("partnerapi", "0037_accounts_by_function"),
        ("accounts", "0076_guards_of_release_before"),
        ("issuers", "0092_guards_of_release_before"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

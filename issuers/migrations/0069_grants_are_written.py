"""Grants are written."""

from django.db import migrations

FORWARD = r"""
DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.ended_at IS NULL AND public.accounts_written_directly()) EXECUTE FUNCTION public.approvals_of_grant();
"""

BACKWARD = r"""
DROP TRIGGER IF EXISTS approvals_of_grant ON public.issuers_issuergrant;
CREATE CONSTRAINT TRIGGER approvals_of_grant AFTER INSERT OR UPDATE ON public.issuers_issuergrant DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.ended_at IS NULL) EXECUTE FUNCTION public.approvals_of_grant();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0068_binds_are_written"),
    ]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

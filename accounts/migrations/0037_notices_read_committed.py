"""Refuses changes of notices that a transaction would judge by an old snapshot."""

from django.db import migrations

from partnerapi.core.guards import refuse_snapshots


class Migration(migrations.Migration):
    dependencies = [("accounts", "0036_approvals_of_identities_and_grants")]

    operations = [refuse_snapshots("accounts_staffnotice")]

"""Counts the accounts of each partner from before a trigger kept their number."""

from django.db import migrations

from partnerapi.core.migrating import fill_totals


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0032_totals")]

    operations = [
        fill_totals(
            "accounts",
            "accounts_account",
            "partner_id",
            "SELECT id FROM accounts_partner ORDER BY id",
        ),
    ]

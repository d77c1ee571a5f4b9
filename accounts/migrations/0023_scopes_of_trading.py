"""Contract: keys may have the scopes of trading; the constraint on scopes made anew."""

import django.contrib.postgres.fields
from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

SCOPES = {
    "issuers:read": "Issuers: owner, financial data, prices",
    "captable:read": "Capitalization tables",
    "shareholders:read": "Legacy shareholders",
    "accounts:read": "Accounts",
    "accounts:write": "Accounts: open, change status",
    "marketdata:read": "Order books",
    "trading:read": "Orders, executions, positions",
    "trading:write": "Orders: place, amend, cancel",
    "cash:read": "Cash of accounts",
    "cash:write": "Cash of accounts: request withdrawals",
    "compliance:read": "Investor profiles",
    "compliance:write": "Investor profiles: attest",
}


class Migration(migrations.Migration):
    dependencies = [("accounts", "0022_applicants")]

    operations = [
        migrations.AlterField(
            "apikey",
            "scopes",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[*SCOPES.items()], max_length=20
                ),
                size=None,
            ),
        ),
        migrations.RemoveConstraint("apikey", "api_key_scopes_are_known"),
        AddConstraintNotValid(
            "apikey",
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=[*SCOPES]),
                name="api_key_scopes_are_known",
            ),
        ),
    ]

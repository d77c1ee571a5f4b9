"""Contract: keys may have the scopes of compliance, beside those of before."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.operations import AddConstraintNotValid, ValidateConstraint
from django.db import migrations, models

SCOPES = {
    "issuers:read": "Issuers: owner, financial data, prices",
    "captable:read": "Capitalization tables",
    "shareholders:read": "Legacy shareholders",
    "accounts:read": "Accounts",
    "accounts:write": "Accounts: change status",
    "marketdata:read": "Order books",
    "compliance:read": "Investors: profiles, checks of transfers",
    "compliance:write": "Investors: attest",
}
KNOWN = "api_key_scopes_are_known"


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0020_investors")]

    operations = [
        migrations.AlterField(
            "apikey",
            "scopes",
            ArrayField(models.CharField(choices=[*SCOPES.items()], max_length=20)),
        ),
        migrations.RemoveConstraint("apikey", KNOWN),
        AddConstraintNotValid(
            "apikey",
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=[*SCOPES]), name=KNOWN
            ),
        ),
        ValidateConstraint("apikey", KNOWN),
    ]

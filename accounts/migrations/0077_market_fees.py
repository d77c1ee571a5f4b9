"""Contract: the constraint that knew no accounts for a market's fees makes way.

The old release needs nothing of it. Tariffs are decided by two people.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

KINDS = [
    ("MINT", "Mint"),
    ("BURN", "Burn"),
    ("FORCED_TRANSFER", "Forced transfer"),
    ("REVERSAL", "Reversal"),
    ("PRICE", "Price"),
    ("DELIVERY", "Delivery of legacy shares"),
    ("KEY", "API key"),
    ("CLOSING", "Closing of an account"),
    ("WITHDRAWAL", "Withdrawal of cash"),
    ("ASSIGNMENT", "Assignment of an unallocated receipt"),
    ("RULE", "Rule of a token"),
    ("LIFTING", "Lifting of a restriction"),
    ("BUST", "Bust of a trade"),
    ("REOPEN", "Reopening of a halted market"),
    ("STATEMENT", "Bank statement"),
    ("TRANSFER", "Transfer, allocation or return"),
    ("IDENTITY", "Symbol or ISIN of a traded token"),
    ("GRANT", "Grant to a partner"),
    ("REGISTER", "Register of a new issuer"),
    ("DESK", "Member of a partner's desk"),
    ("RELEASE", "Release of blocked orders"),
    ("SIGN_IN", "Reset of a sign-in"),
    ("TARIFF", "Tariff of a market"),
]
CASH = [
    ("CLIENT", "Client"),
    ("BANK", "Bank"),
    ("FEES", "Fees"),
    ("SUSPENSE", "Suspense"),
    ("MARKET", "Fees of a market"),
]


class Migration(migrations.Migration):
    dependencies = [("accounts", "0076_guards_of_release_before")]

    operations = [
        migrations.AlterModelOptions(
            "approvalrequest",
            {
                "permissions": [
                    *((f"file_{k.lower()}", f"Can ask for: {label}") for k, label in KINDS),
                    *((f"decide_{k.lower()}", f"Can decide: {label}") for k, label in KINDS),
                ]
            },
        ),
        migrations.AlterField(
            "approvalpolicy",
            "kind",
            models.CharField(
                choices=KINDS, max_length=20, primary_key=True, serialize=False
            ),
        ),
        migrations.AlterField(
            "approvalrequest",
            "kind",
            models.CharField(choices=KINDS, editable=False, max_length=20),
        ),
        migrations.AlterField(
            "soleamount", "kind", models.CharField(choices=KINDS, max_length=20)
        ),
        migrations.AlterField(
            "cashaccount",
            "kind",
            models.CharField(choices=CASH, editable=False, max_length=8),
        ),
        migrations.AlterField(
            "cashhead", "kind", models.CharField(choices=CASH, max_length=8)
        ),
        migrations.RemoveConstraint(
            "cashaccount", "cash_account_is_a_clients_or_the_platforms"
        ),
        AddConstraintNotValid(
            "cashaccount",
            models.CheckConstraint(
                condition=Q(
                    kind="CLIENT",
                    account__isnull=False,
                    deposit_reference__isnull=False,
                )
                | Q(
                    kind__in=["BANK", "FEES", "SUSPENSE", "MARKET"],
                    account__isnull=True,
                    deposit_reference__isnull=True,
                ),
                name="cash_account_is_a_clients_or_the_platforms",
            ),
        ),
    ]

"""Contract: the constraint that knew four exported connections makes way for a wider one.

The old release needs nothing of it. Orders, executions and positions can be exported.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

CONNECTIONS = [
    ("HOLDERS", "Holders"),
    ("TRANSACTIONS", "Transactions"),
    ("LEGACY_SHAREHOLDERS", "Legacy shareholders"),
    ("ACCOUNTS", "Accounts"),
    ("ORDERS", "Orders"),
    ("EXECUTIONS", "Executions"),
    ("POSITIONS", "Positions"),
]


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0017_writers")]

    operations = [
        migrations.AlterField(
            "export",
            "connection",
            models.CharField(choices=CONNECTIONS, max_length=19),
        ),
        migrations.RemoveConstraint("export", "export_names_what_it_is_of"),
        AddConstraintNotValid(
            "export",
            models.CheckConstraint(
                condition=Q(connection="HOLDERS", issuer_id__isnull=False)
                | Q(
                    connection="TRANSACTIONS",
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                    last_sequence__isnull=False,
                )
                | Q(connection="LEGACY_SHAREHOLDERS", issuer_id__isnull=False)
                | Q(
                    connection__in=["ACCOUNTS", "ORDERS", "EXECUTIONS", "POSITIONS"],
                    issuer_id__isnull=True,
                ),
                name="export_names_what_it_is_of",
            ),
        ),
    ]

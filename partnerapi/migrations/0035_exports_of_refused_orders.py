"""Contract: the constraint that knew 21 exported connections makes way for a wider one.

The old release needs nothing of it: it makes no export of refused orders.
"""

from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models
from django.db.models import Q

CONNECTIONS = [
    ("HOLDERS", "Holders"),
    ("TRANSACTIONS", "Transactions"),
    ("PRICES", "Prices"),
    ("TRADES", "Trades"),
    ("TRADING_DAYS", "Trading days"),
    ("ISSUERS", "Issuers"),
    ("TOKENS", "Tokens"),
    ("MARKETS", "Markets"),
    ("INDUSTRY_BENCHMARKS", "Industry benchmarks"),
    ("ARTICLES", "Articles"),
    ("FINANCIAL_DATA", "Financial data"),
    ("LEGACY_SHAREHOLDERS", "Legacy shareholders"),
    ("ACCOUNTS", "Accounts"),
    ("STATUS_CHANGES", "Status changes"),
    ("ORDERS", "Orders"),
    ("REFUSED_ORDERS", "Refused orders"),
    ("EXECUTIONS", "Executions"),
    ("POSITIONS", "Positions"),
    ("CASH_ENTRIES", "Cash entries"),
    ("WITHDRAWALS", "Withdrawals"),
    ("EVENTS", "Events"),
    ("GRANTS", "Grants"),
]


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0034_import_jobs")]

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
                condition=Q(
                    connection__in=[
                        "HOLDERS",
                        "ARTICLES",
                        "FINANCIAL_DATA",
                        "LEGACY_SHAREHOLDERS",
                    ],
                    issuer_id__isnull=False,
                )
                | Q(
                    connection="TRANSACTIONS",
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                    last_sequence__isnull=False,
                )
                | Q(
                    connection__in=["PRICES", "TRADES", "TRADING_DAYS"],
                    issuer_id__isnull=False,
                    token_id__isnull=False,
                )
                | Q(connection="TOKENS", token_id__isnull=True, account_id__isnull=True)
                | Q(
                    connection__in=["STATUS_CHANGES", "CASH_ENTRIES", "WITHDRAWALS"],
                    account_id__isnull=False,
                )
                | Q(
                    connection__in=["ORDERS", "EXECUTIONS", "POSITIONS"],
                    issuer_id__isnull=True,
                )
                | Q(
                    connection__in=[
                        "ISSUERS",
                        "MARKETS",
                        "INDUSTRY_BENCHMARKS",
                        "ACCOUNTS",
                        "REFUSED_ORDERS",
                        "EVENTS",
                        "GRANTS",
                    ],
                    issuer_id__isnull=True,
                    account_id__isnull=True,
                ),
                name="export_names_what_it_is_of",
            ),
        ),
    ]

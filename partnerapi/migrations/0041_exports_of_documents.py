"""Contract: the constraint that knew 22 exported connections makes way for a wider one.

The old release needs nothing of it: it makes no export of documents.
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
    ("DOCUMENTS", "Documents"),
    ("INVOICES", "Invoices"),
    ("EVENTS", "Events"),
    ("GRANTS", "Grants"),
]


class Migration(migrations.Migration):
    dependencies = [("partnerapi", "0040_fees_and_units_judged_once")]

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
                    connection__in=[
                        "STATUS_CHANGES",
                        "CASH_ENTRIES",
                        "WITHDRAWALS",
                        "DOCUMENTS",
                    ],
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
                        "INVOICES",
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

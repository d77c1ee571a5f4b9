"""Keeps how many orders partners and accounts have."""

from importlib import import_module

from django.db import migrations

totals = import_module("accounts.migrations.0032_totals")

ORDERS = ("trading_count_orders", "trading_order")


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0008_judged_by_time"),
        ("accounts", "0033_counted_accounts"),
    ]

    operations = [
        migrations.RunSQL(
            totals.counts(
                *ORDERS, {"orders": "partner_id", "accountOrders": "account_id"}
            ),
            totals.uncounted(*ORDERS),
        ),
    ]

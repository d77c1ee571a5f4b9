"""Counts the orders from before a trigger kept their number."""

from importlib import import_module

from django.db import migrations

fill = import_module("accounts.migrations.0033_counted_accounts").fill


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0009_totals")]

    operations = [
        fill(
            "orders",
            "trading_order",
            "partner_id",
            "SELECT id FROM accounts_partner ORDER BY id",
        ),
        fill(
            "accountOrders",
            "trading_order",
            "account_id",
            "SELECT DISTINCT account_id FROM trading_order ORDER BY 1",
        ),
    ]

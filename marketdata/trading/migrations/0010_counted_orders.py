"""Counts the orders from before a trigger kept their number."""

from django.db import migrations

from partnerapi.core.migrating import fill_totals


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0009_totals")]

    operations = [
        fill_totals(
            "orders",
            "trading_order",
            "partner_id",
            "SELECT id FROM accounts_partner ORDER BY id",
        ),
        fill_totals(
            "accountOrders",
            "trading_order",
            "account_id",
            "SELECT DISTINCT account_id FROM trading_order ORDER BY 1",
        ),
    ]

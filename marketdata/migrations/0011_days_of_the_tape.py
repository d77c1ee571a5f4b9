"""Writes the figures of the trading days from before a trigger kept them.

A book is held while its days are written, so that no trade comes between. The tape is
pruned, and days are kept: what it does not hold any more stays as it is.
"""

from importlib import import_module

from django.db import migrations, transaction

from partnerapi.core.migrating import LOCK_SECONDS, again_while_locked, waiting

days = import_module("marketdata.migrations.0006_trading_days")

HOLD = "SELECT FROM marketdata_orderbookhead WHERE token_id = %s FOR UPDATE"
FILL = days.FIGURES.format(
    trades="(SELECT * FROM marketdata_trade WHERE token_id = %s)"
) + """
    ON CONFLICT (token_id, day) DO UPDATE SET
        open_cents = excluded.open_cents,
        high_cents = excluded.high_cents,
        low_cents = excluded.low_cents,
        close_cents = excluded.close_cents,
        volume = excluded.volume,
        value_cents = excluded.value_cents,
        trades = excluded.trades,
        first_trade = excluded.first_trade,
        last_trade = excluded.last_trade
    WHERE excluded.first_trade < kept.first_trade
"""


def fill(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT token_id FROM marketdata_orderbookhead ORDER BY token_id")
        tokens = [token for (token,) in cursor.fetchall()]
    for token in tokens:
        again_while_locked(lambda: fill_days(connection, token))


def fill_days(connection, token):
    with (
        waiting(connection, LOCK_SECONDS),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute(HOLD, [token])
        cursor.execute(FILL, [token])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("marketdata", "0010_prices_of_trades")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]

from importlib import import_module

from django.db import migrations

guards = import_module("issuers.migrations.0003_register_guards")
balances = import_module("issuers.migrations.0006_holder_balance_user")


def again(function: str) -> str:
    return function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")


# A reader waits for tokens that are being made, but not for an issuer whose name or
# city is being changed, perhaps by an import that takes minutes.
NOTE = again(balances.NOTE_LEDGERS)
TIME_TOKEN = again(guards.OPEN_LEDGER.partition("CREATE TRIGGER")[0])


class Migration(migrations.Migration):
    dependencies = [("issuers", "0006_holder_balance_user")]

    operations = [
        migrations.RunSQL(
            TIME_TOKEN.replace("FOR NO KEY UPDATE", "FOR UPDATE"), TIME_TOKEN
        ),
        migrations.RunSQL(
            NOTE.replace("ORDER BY id FOR SHARE", "ORDER BY id FOR KEY SHARE"), NOTE
        ),
    ]

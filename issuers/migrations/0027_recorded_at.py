from django.contrib.postgres.indexes import BrinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("issuers", "0026_history")]

    operations = [
        AddIndexConcurrently(
            "ledgertransaction",
            BrinIndex(fields=["recorded_at"], name="ledger_recorded"),
        ),
        AddIndexConcurrently(
            "tokenprice",
            BrinIndex(fields=["recorded_at"], name="token_price_recorded"),
        ),
    ]

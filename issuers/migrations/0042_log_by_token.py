from django.db import migrations, models
from django.db.models import Q

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0041_investors_are_dated_under_locks")]

    operations = [
        AddIndexBeside(
            "ledgertransaction",
            models.Index(fields=["token", "recorded_at"], name="ledger_recorded_of_token"),
        ),
        AddIndexBeside(
            "tokenprice",
            models.Index(
                fields=["token", "recorded_at"],
                condition=~Q(source="TRADE"),
                name="token_price_recorded_by_hand",
            ),
        ),
    ]

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside

SINGLY = ~models.Q(kind__in=["LEGACY_DELIVERY", "TRADE"])


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0076_events_are_announced")]

    operations = [
        AddIndexBeside(
            "ledgertransaction",
            models.Index(
                fields=["recorded_at"], condition=SINGLY, name="ledger_recorded_singly"
            ),
        ),
        AddIndexBeside(
            "ledgertransaction",
            models.Index(
                fields=["token", "recorded_at"],
                condition=SINGLY,
                name="ledger_singly_of_token",
            ),
        ),
    ]

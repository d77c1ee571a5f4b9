"""Events of an account are read in an index's order."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0038_events_of_orders")]

    operations = [
        AddIndexBeside(
            "event",
            models.Index(
                fields=["partner", "account_id", "sequence"],
                condition=models.Q(account_id__isnull=False),
                name="event_by_account",
            ),
        ),
    ]

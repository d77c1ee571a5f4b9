"""Events of a type are read in an index's order, however rare they are."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0032_grants_end")]

    operations = [
        AddIndexBeside(
            "event",
            models.Index(
                fields=["partner", "type", "sequence"], name="event_by_type"
            ),
        ),
    ]

"""Events of a type are read in an index's order, however rare they are."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0022_periods_end_first")]

    operations = [
        AddIndexConcurrently(
            model_name="event",
            index=models.Index(
                fields=["partner", "type", "sequence"], name="event_by_type"
            ),
        ),
    ]

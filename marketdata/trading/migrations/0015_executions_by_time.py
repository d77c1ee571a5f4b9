"""Lists executions by time, for the list of all clients of a partner."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0014_writers")]

    operations = [
        AddIndexBeside(
            "execution",
            models.Index(fields=["at", "sequence", "token"], name="execution_by_time"),
        ),
    ]

"""Finds the busts of a day or a month, for its documents."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0039_documents")]

    operations = [
        AddIndexBeside("bust", models.Index(fields=["at"], name="bust_by_time")),
    ]

"""Finds the events of a day, for its records, without reading the whole log."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import migrations

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("trading", "0029_blocks_of_forged_calls")]

    operations = [
        AddIndexBeside(
            "orderevent", BrinIndex(fields=["at"], name="order_event_by_time")
        ),
    ]

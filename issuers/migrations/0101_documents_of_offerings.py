"""Finds the offerings that name a document."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0100_legacy_lines_by_status")]

    operations = [
        AddIndexBeside(
            "offering", GinIndex(fields=["documents"], name="offerings_by_document")
        ),
    ]

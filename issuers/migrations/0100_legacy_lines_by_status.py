"""Lists legacy shareholders of a status without reading those of the other."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0099_offerings")]

    operations = [
        AddIndexBeside(
            "legacyshareholder",
            models.Index(fields=["status", "id"], name="legacy_shareholder_of_status"),
        ),
    ]

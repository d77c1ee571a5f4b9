"""Finds the latest changes of status for the log, without reading all of them."""

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0084_offerings_are_validated")]

    operations = [
        AddIndexBeside(
            "accountstatuschange",
            models.Index(fields=["recorded_at"], name="status_change_recorded"),
        ),
    ]

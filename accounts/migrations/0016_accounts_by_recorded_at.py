from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0015_history")]

    operations = [
        AddIndexBeside(
            "account",
            models.Index(fields=["partner", "recorded_at"], name="account_recorded"),
        ),
    ]

from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("accounts", "0011_settled_on_a_standby")]

    operations = [
        AddIndexBeside(
            "account",
            models.Index(fields=["partner", "recorded_at"], name="account_recorded"),
        ),
    ]

"""Which partners attest of investors: by itself, for each request reads its partner."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0020_investors")]

    operations = [
        migrations.AddField(
            "partner",
            "may_attest",
            models.BooleanField(
                db_default=False,
                help_text="On: what it attests of investors is in force at once.",
            ),
        ),
    ]

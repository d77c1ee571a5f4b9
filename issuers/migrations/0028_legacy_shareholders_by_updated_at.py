from django.db import migrations, models

from partnerapi.core.migrating import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("issuers", "0027_recorded_at")]

    operations = [
        AddIndexBeside(
            "legacyshareholder",
            models.Index(
                fields=["issuer", "updated_at"], name="legacy_shareholder_updated"
            ),
        ),
    ]

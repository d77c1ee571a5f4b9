"""What a delivery's lines said when it began, and when it was released."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


def array(of):
    return ArrayField(base_field=of, db_default=[])


class Migration(migrations.Migration):
    dependencies = [("issuers", "0022_periods_end_first")]

    operations = [
        migrations.AddField(
            "deliveryjob",
            "released_at",
            models.DateTimeField(
                null=True,
                help_text="From when on its lines may be delivered; a trigger asks for "
                "the approval that it needs.",
            ),
        ),
        migrations.AddField("deliverystep", "units", array(models.BigIntegerField())),
        migrations.AddField(
            "deliverystep", "token_ids", array(models.UUIDField(null=True))
        ),
        migrations.AddField(
            "deliverystep", "user_ids", array(models.UUIDField(null=True))
        ),
    ]

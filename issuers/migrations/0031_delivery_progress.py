"""Who delivers a delivery's lines, when one was last tried, and which were skipped."""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("issuers", "0030_tables_for_the_release_before")]

    operations = [
        migrations.AddField(
            "deliveryjob",
            "handed_over_at",
            models.DateTimeField(
                null=True, help_text="Since when a worker is to deliver its lines."
            ),
        ),
        migrations.AddField(
            "deliveryjob",
            "resumed_by",
            models.CharField(
                max_length=254,
                null=True,
                help_text="Who resumed it last; what follows is delivered in this "
                "name.",
            ),
        ),
        migrations.AddField(
            "deliveryjob",
            "tried_at",
            models.DateTimeField(
                null=True, help_text="When a step of it was last delivered, or tried."
            ),
        ),
        migrations.AddField(
            "deliveryjob",
            "held",
            models.CharField(
                max_length=500,
                default="",
                db_default="",
                help_text="What somebody else held when a step was last tried.",
            ),
        ),
        migrations.AddField(
            "deliverystep",
            "skipped_ids",
            ArrayField(
                models.UUIDField(),
                db_default=[],
                help_text="Lines that had been delivered before.",
            ),
        ),
    ]

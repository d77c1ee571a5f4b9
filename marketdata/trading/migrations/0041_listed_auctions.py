"""Keep when an auction's fills were listed, and by which entry of the register."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("trading", "0040_busts_by_time")]

    operations = [
        migrations.AddField(
            model_name="auction",
            name="listed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="auction",
            name="listed_entry",
            field=models.BigIntegerField(
                help_text="Last entry of the register when its fills were listed.",
                null=True,
            ),
        ),
    ]

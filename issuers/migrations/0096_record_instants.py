"""Statements follow record instants, too."""

import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("issuers", "0095_auction_events")]

    operations = [
        migrations.CreateModel(
            name="RecordInstant",
            fields=[
                ("at", models.DateTimeField(primary_key=True, serialize=False)),
                ("reason", models.CharField(max_length=500)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                    ),
                ),
            ],
        ),
    ]

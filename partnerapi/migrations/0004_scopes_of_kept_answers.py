import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("partnerapi", "0003_job_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="idempotencyrecord",
            name="scopes",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=50),
                db_default=[],
                size=None,
            ),
        ),
    ]

import django.contrib.postgres.fields
from django.db import migrations

import marketdata.models.sessions


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0011_days_of_the_tape")]

    operations = [
        migrations.AddField(
            model_name="fixsession",
            name="sources",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=marketdata.models.sessions.NetworkField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="Networks that its Logon is taken from, such as"
                " 203.0.113.0/24, separated by commas; none: any.",
                size=None,
                verbose_name="source networks",
            ),
        ),
    ]

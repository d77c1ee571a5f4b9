"""A CompID may be that of a drop copy."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0026_one_refusal_of_snapshots")]

    operations = [
        migrations.AddField(
            model_name="fixsession",
            name="is_drop_copy",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Whether it gets reports of the partner's orders instead of "
                "market data.",
                verbose_name="drop copy",
            ),
        ),
    ]

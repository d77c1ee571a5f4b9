"""Several rows are "market parameters", and not "market parameterss"."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("trading", "0059_corrections_sql")]

    operations = [
        migrations.AlterModelOptions(
            name="marketparameters",
            options={"verbose_name_plural": "market parameters"},
        ),
    ]

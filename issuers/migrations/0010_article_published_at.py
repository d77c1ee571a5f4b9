from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("issuers", "0009_holder_guard")]

    operations = [
        migrations.AlterField(
            model_name="article",
            name="published_at",
            field=models.DateTimeField(
                null=True,
                blank=True,
                help_text="From when on partners see it. Empty: a draft, which they "
                "never see.",
            ),
        ),
    ]

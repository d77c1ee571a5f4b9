import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_settled_at")]

    operations = [
        migrations.CreateModel(
            name="Pepper",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("first_used_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.AddField(
            "apikey",
            "pepper",
            models.ForeignKey(
                editable=False,
                help_text="Which one keyed the digest; null: made before this was"
                " noted.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="accounts.pepper",
            ),
        ),
    ]

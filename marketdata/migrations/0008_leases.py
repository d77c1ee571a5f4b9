import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0007_book_sequence")]

    operations = [
        migrations.CreateModel(
            name="FixLease",
            fields=[
                ("session", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to="marketdata.fixsession")),
                ("acceptor", models.CharField(max_length=50)),
                ("generation", models.BigIntegerField()),
                ("taken", models.BigIntegerField(help_text="The generation that has it.")),
                ("until", models.DateTimeField()),
            ],
        ),
    ]  # fmt: skip

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0006_trading_days")]

    operations = [
        migrations.AddField(
            model_name="fixsession",
            name="book_sequence",
            field=models.BooleanField(
                default=False,
                help_text="Whether W and X carry the book's number, a tag that is not"
                " FIX's.",
                verbose_name="BookSequence(5083)",
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0105_erasures_offerings_writers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="ledgertransaction",
            name="kind",
            field=models.CharField(
                choices=[
                    ("MINT", "Mint"),
                    ("ALLOCATE", "Allocation"),
                    ("TRANSFER", "Transfer"),
                    ("RETURN", "Return"),
                    ("BURN", "Burn"),
                    ("FORCED_TRANSFER", "Forced transfer"),
                    ("LEGACY_DELIVERY", "Legacy delivery"),
                    ("REVERSAL", "Reversal"),
                    ("TRADE", "Trade"),
                ],
                max_length=15,
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0015_no_shadows")]

    operations = [
        migrations.AddField(
            model_name="fixlease",
            name="address",
            field=models.GenericIPAddressField(
                help_text="Where the session that has it was logged on from.", null=True
            ),
        ),
        migrations.AddField(
            model_name="fixlease",
            name="refused",
            field=models.BigIntegerField(
                db_default=0, help_text="Up to this generation, Logons were refused."
            ),
        ),
        migrations.AddField(
            model_name="fixlease",
            name="since",
            field=models.DateTimeField(
                help_text="When it was taken last.", null=True
            ),
        ),
    ]

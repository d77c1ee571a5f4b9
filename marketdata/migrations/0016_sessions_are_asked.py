from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("marketdata", "0015_no_shadows")]

    operations = [
        migrations.AddField(
            model_name="fixlease",
            name="address",
            field=models.GenericIPAddressField(
                help_text='Address of the Logon of the session that holds it.', null=True
            ),
        ),
        migrations.AddField(
            model_name="fixlease",
            name="refused",
            field=models.BigIntegerField(
                db_default=0, help_text='Logons of generations up to this one are refused.'
            ),
        ),
        migrations.AddField(
            model_name="fixlease",
            name="since",
            field=models.DateTimeField(
                help_text='When it was last taken.', null=True
            ),
        ),
    ]

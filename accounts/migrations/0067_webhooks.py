"""E-mails to a partner's desk about a webhook endpoint that is off."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0066_order_blocks'),
    ]

    operations = [
        migrations.AlterField(
            model_name='desknotice',
            name='what',
            field=models.CharField(choices=[('INVITED', 'Invitation'), ('ENROLLED', 'Passkey set'), ('KEY', 'API key issued'), ('WEBHOOK', 'Webhook endpoint off')], max_length=8),
        ),
    ]

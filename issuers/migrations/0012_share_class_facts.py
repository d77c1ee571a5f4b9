from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0011_ledger_chains'),
    ]

    operations = [
        migrations.AddField(
            model_name='token',
            name='class_type',
            field=models.CharField(blank=True, choices=[('COMMON', 'Common'), ('PREFERRED', 'Preferred')], max_length=9, null=True, verbose_name='type of the share class'),
        ),
        migrations.AddField(
            model_name='token',
            name='nominal_currency',
            field=models.CharField(blank=True, help_text='Currency of the nominal value (ISO 4217), such as EUR.', max_length=3, null=True),
        ),
        migrations.AddField(
            model_name='token',
            name='nominal_value',
            field=models.DecimalField(blank=True, decimal_places=10, help_text='Of one share, in whole units of its currency.', max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name='token',
            name='seniority',
            field=models.DecimalField(blank=True, decimal_places=10, help_text='Rank in a liquidation: a higher one is paid first.', max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name='token',
            name='votes_per_share',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
    ]

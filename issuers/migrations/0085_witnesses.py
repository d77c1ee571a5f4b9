"""Partners witness statements."""

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import refuse_snapshots


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0066_order_blocks'),
        ('issuers', '0084_stated_rows'),
    ]

    operations = [
        migrations.CreateModel(
            name='WitnessKey',
            fields=[
                ('public_key', models.CharField(help_text='Ed25519, base64.', max_length=44, primary_key=True, serialize=False)),
                ('since', models.DateTimeField()),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='witness_keys', to='accounts.partner')),
            ],
        ),
        migrations.CreateModel(
            name='Witness',
            fields=[
                ('pk', models.CompositePrimaryKey('statement_id', 'key_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('signature', models.CharField(help_text='Ed25519, base64.', max_length=88)),
                ('at', models.DateTimeField()),
                ('statement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='witnesses', to='issuers.statement')),
                ('key', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.witnesskey')),
            ],
        ),
        refuse_snapshots("issuers_witness", "issuers_witnesskey"),
    ]

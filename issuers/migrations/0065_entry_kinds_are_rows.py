"""The database judges entries by the rows of their kinds."""

import django.contrib.postgres.fields
from django.db import migrations, models


ROWS = """
INSERT INTO issuers_entrykind (name, sources, targets, is_paused, is_taken, is_given,
    is_forced, approval) VALUES
    ('MINT', '{NULL}', '{HOLDER,TREASURY}', FALSE, FALSE, TRUE, FALSE, 'MINT'),
    ('ALLOCATE', '{TREASURY}', '{HOLDER}', FALSE, FALSE, TRUE, FALSE, 'TRANSFER'),
    ('TRANSFER', '{HOLDER}', '{HOLDER}', TRUE, TRUE, TRUE, FALSE, 'TRANSFER'),
    ('RETURN', '{HOLDER}', '{TREASURY}', FALSE, TRUE, FALSE, FALSE, 'TRANSFER'),
    ('BURN', '{HOLDER,TREASURY}', '{NULL}', FALSE, TRUE, FALSE, FALSE, 'BURN'),
    ('FORCED_TRANSFER', '{HOLDER}', '{HOLDER}', FALSE, FALSE, FALSE, TRUE, 'FORCED_TRANSFER'),
    ('LEGACY_DELIVERY', '{NULL,TREASURY}', '{HOLDER}', FALSE, FALSE, TRUE, FALSE, NULL),
    ('REVERSAL', '{HOLDER,NULL,TREASURY}', '{HOLDER,NULL,TREASURY}', FALSE, FALSE, FALSE, FALSE, 'REVERSAL'),
    ('TRADE', '{HOLDER}', '{HOLDER}', TRUE, TRUE, TRUE, FALSE, NULL);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0064_reworded_refusals'),
    ]

    operations = [
        migrations.CreateModel(
            name='EntryKindRow',
            fields=[
                ('name', models.CharField(max_length=15, primary_key=True, serialize=False)),
                ('sources', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8, null=True), size=None)),
                ('targets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=8, null=True), size=None)),
                ('is_paused', models.BooleanField(help_text='A pause of the token stops it.')),
                ('is_taken', models.BooleanField(help_text="It needs the sender's free units.")),
                ('is_given', models.BooleanField(help_text='Its receiver must be allowed to hold.')),
                ('is_forced', models.BooleanField(help_text='Its receiver must be verified and not frozen.')),
                ('approval', models.CharField(max_length=20, null=True)),
            ],
            options={
                'db_table': 'issuers_entrykind',
            },
        ),
        migrations.RunSQL(ROWS, migrations.RunSQL.noop),
    ]

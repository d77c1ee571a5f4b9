"""What statements say of the rows of other tables."""

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import refuse_snapshots


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0083_order_blocks'),
    ]

    operations = [
        migrations.CreateModel(
            name='StatedRows',
            fields=[
                ('pk', models.CompositePrimaryKey('name', 'statement_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(help_text='Of the table.', max_length=80)),
                ('columns', models.JSONField()),
                ('since', models.DateTimeField(help_text='Null: all before.', null=True)),
                ('until', models.DateTimeField()),
                ('rows', models.BigIntegerField()),
                ('seed', models.BinaryField(help_text='Of the salts of its rows.', max_length=16)),
                ('digest', models.BinaryField(max_length=32)),
                ('statement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='rows', to='issuers.statement')),
            ],
        ),
        refuse_snapshots("issuers_statedrows"),
    ]

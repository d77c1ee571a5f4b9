"""Trees of holdings, and the details of a public statement apart from its line."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.guards import refuse_snapshots


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0079_phase_event_types'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='HoldingTree',
            fields=[
                ('token', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='holding_tree', serialize=False, to='issuers.token')),
                ('padding_key', models.BinaryField(max_length=32)),
            ],
        ),
        migrations.AddField(
            model_name='statement',
            name='details',
            field=models.TextField(help_text='Canonical JSON, whose SHA-256 the line names; null before this was a part of its own.', null=True),
        ),
        migrations.CreateModel(
            name='HolderSalt',
            fields=[
                ('pk', models.CompositePrimaryKey('user_id', 'token_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('salt', models.BinaryField(max_length=16)),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
                ('user', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='HoldingPage',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'page', 'statement_number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('page', models.SmallIntegerField()),
                ('statement_number', models.BigIntegerField()),
                ('nodes', models.BinaryField(help_text='Nodes that are not empty: 1 byte of place, 8 of units, 32 of hash.')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
            ],
        ),
        migrations.CreateModel(
            name='HolderCommitment',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'account_id', 'since', blank=True, editable=False, primary_key=True, serialize=False)),
                ('since', models.BigIntegerField(help_text='Number of its first statement.')),
                ('until', models.BigIntegerField(help_text='Number of the first statement with another name.', null=True)),
                ('bucket', models.IntegerField(help_text='The first 16 bits of the commitment.')),
                ('commitment', models.BinaryField(max_length=32)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.ledgeraccount')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
            ],
            options={
                'indexes': [models.Index(fields=['token', 'bucket'], name='commitment_bucket')],
            },
        ),
        refuse_snapshots(
            "issuers_holdersalt",
            "issuers_holdercommitment",
            "issuers_holdingtree",
            "issuers_holdingpage",
        ),
    ]

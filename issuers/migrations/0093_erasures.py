"""Persons are erased; what statements say of their rows stays, without what opens it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('issuers', '0092_guards_of_release_before'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='statedrows',
            name='erased',
            field=models.JSONField(help_text='The commitments of rows that were erased, by their keys.', null=True),
        ),
        migrations.AddField(
            model_name='statedrows',
            name='salts',
            field=models.JSONField(help_text='Instead of a seed: the salts of rows, by their keys.', null=True),
        ),
        migrations.AlterField(
            model_name='statedrows',
            name='seed',
            field=models.BinaryField(help_text='Of the salts of its rows; null since one of them was erased.', max_length=16, null=True),
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('number', models.BigIntegerField(primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('line', models.TextField(help_text='JSON.')),
                ('digest', models.BinaryField(max_length=32)),
                ('person', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='RedactedLine',
            fields=[
                ('pk', models.CompositePrimaryKey('token_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.BigIntegerField(help_text='Of the entry.')),
                ('digest_before', models.BinaryField(max_length=32)),
                ('digest_after', models.BinaryField(max_length=32)),
                ('erasure', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.erasure')),
                ('token', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='issuers.token')),
            ],
        ),
    ]

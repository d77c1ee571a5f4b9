"""Webhook endpoints, what was sent to them, and the lease of the process that sends."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid_utils.compat
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0067_webhooks'),
        ('partnerapi', '0029_chains_of_cash_sql'),
    ]

    operations = [
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=500)),
                ('types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), help_text='Types of events that it receives; null: all.', null=True, size=None)),
                ('sealed_secrets', models.BinaryField(help_text='Its secrets, encrypted; the new one first.')),
                ('rolled_at', models.DateTimeField(help_text='When the new secret was made; the one before also signs.', null=True)),
                ('position', models.BigIntegerField(help_text='Sequence of the last event that it has received or may not see.')),
                ('attempts', models.PositiveIntegerField(db_default=0, help_text='Failed attempts to send the next event.')),
                ('failing_since', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When the next attempt is made.')),
                ('test_at', models.DateTimeField(help_text='When a test was requested.', null=True)),
                ('delivered_at', models.DateTimeField(help_text='When it last accepted a message.', null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('reason', models.CharField(help_text='Why it is off.', max_length=200, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='webhooks', to='accounts.apikey')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['due_at'], name='webhooks_to_serve')],
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('position__gte', 0)), name='webhook_position_is_not_negative'),
                    models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', True), ('reason__isnull', True)), models.Q(('ended_at__isnull', False), ('reason__isnull', False)), _connector='OR'), name='webhook_is_off_for_a_reason'),
                    models.CheckConstraint(condition=models.Q(models.Q(('attempts', 0), ('failing_since__isnull', True)), models.Q(('attempts__gt', 0), ('failing_since__isnull', False)), _connector='OR'), name='webhook_fails_since_its_first_attempt'),
                ],
            },
        ),
        migrations.CreateModel(
            name='WebhookDelivery',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('sequence', models.BigIntegerField(help_text='Of the event; 0: a test.')),
                ('attempt', models.PositiveIntegerField()),
                ('at', models.DateTimeField(help_text='When the attempt ended.')),
                ('milliseconds', models.PositiveIntegerField()),
                ('status', models.PositiveSmallIntegerField(help_text='HTTP status; null: there was no response.', null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='deliveries', to='partnerapi.webhookendpoint')),
            ],
            options={
                'verbose_name_plural': 'webhook deliveries',
                'indexes': [models.Index(fields=['endpoint', '-id'], name='deliveries_of_webhook'), models.Index(fields=['at'], name='deliveries_to_prune')],
            },
        ),
        migrations.CreateModel(
            name='WebhookLease',
            fields=[
                ('id', models.SmallIntegerField(primary_key=True, serialize=False)),
                ('holder', models.CharField(help_text='Its host and its process.', max_length=300)),
                ('since', models.DateTimeField(help_text='When the holder took it.')),
                ('until', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='webhook_lease_is_one')],
            },
        ),
    ]

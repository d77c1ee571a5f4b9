"""The models of the first migrations, whose tables `baseline.sql` makes."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
import uuid_utils.compat
from django.db import migrations, models

from partnerapi.core.migrating import refuse_without_baseline


MODELS = [
    migrations.CreateModel(
        name='FailedSignIn',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('login', models.CharField(help_text='As typed.', max_length=254)),
            ('address', models.CharField(max_length=64)),
            ('is_locked', models.BooleanField(help_text='Refused, or locked from then on, after too many failures.')),
            ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), db_index=True)),
        ],
        options={
            'verbose_name': 'failed sign-in',
        },
    ),
    migrations.CreateModel(
        name='Export',
        fields=[
            ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
            ('connection', models.CharField(choices=[('HOLDERS', 'Holders'), ('TRANSACTIONS', 'Transactions'), ('LEGACY_SHAREHOLDERS', 'Legacy shareholders'), ('ACCOUNTS', 'Accounts')], max_length=19)),
            ('issuer_id', models.UUIDField(null=True)),
            ('token_id', models.UUIDField(null=True)),
            ('date', models.DateTimeField(help_text='The instant of its rows.', null=True)),
            ('last_sequence', models.BigIntegerField(help_text='The last transaction that it contains.', null=True)),
            ('status', models.CharField(choices=[('WAITING', 'Waiting'), ('RUNNING', 'Running'), ('READY', 'Ready'), ('FAILED', 'Failed'), ('EXPIRED', 'Expired')], db_default='WAITING', default='WAITING', max_length=7)),
            ('place', models.PositiveSmallIntegerField(help_text="Its place among the partner's running exports.", null=True)),
            ('cursor', models.TextField(help_text='Cursor of the last row written.', null=True)),
            ('is_written', models.BooleanField(default=False, help_text='Every row is written, though some may not be charged yet.')),
            ('members', models.PositiveIntegerField(default=0)),
            ('rows', models.PositiveBigIntegerField(default=0)),
            ('size_bytes', models.PositiveBigIntegerField(default=0)),
            ('charged', models.PositiveBigIntegerField(default=0, help_text="Points charged to the partner's budget.")),
            ('attempts', models.PositiveSmallIntegerField(default=0, help_text='Attempts since its last page was written.')),
            ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When a worker takes it up, or tries again.')),
            ('reason', models.CharField(help_text='Why it failed.', max_length=500, null=True)),
            ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ('ended_at', models.DateTimeField(null=True)),
            ('expires_at', models.DateTimeField(null=True)),
            ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
        ],
        options={
            'indexes': [models.Index(fields=['partner', 'status'], name='exports_of_partner'), models.Index(condition=models.Q(('status__in', ['WAITING', 'RUNNING'])), fields=['status', 'due_at'], name='exports_to_write')],
            'constraints': [models.UniqueConstraint(fields=('partner', 'place'), name='exports_at_work_have_their_places'), models.CheckConstraint(condition=models.Q(models.Q(('place__gte', 1), ('place__isnull', False), ('place__lte', 2), ('status', 'RUNNING')), models.Q(('place__isnull', True), ('status__in', ['WAITING', 'READY', 'FAILED', 'EXPIRED'])), _connector='OR'), name='export_has_a_place_while_it_runs'), models.CheckConstraint(condition=models.Q(models.Q(('connection', 'HOLDERS'), ('issuer_id__isnull', False)), models.Q(('connection', 'TRANSACTIONS'), ('issuer_id__isnull', False), ('last_sequence__isnull', False), ('token_id__isnull', False)), models.Q(('connection', 'LEGACY_SHAREHOLDERS'), ('issuer_id__isnull', False)), models.Q(('connection', 'ACCOUNTS'), ('issuer_id__isnull', True)), _connector='OR'), name='export_names_what_it_is_of'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'READY'), _negated=True), models.Q(('date__isnull', False), ('expires_at__isnull', False), ('is_written', True)), _connector='OR'), name='export_is_ready_when_it_is_written'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), ('reason__isnull', False), _connector='OR'), name='export_failed_for_a_reason')],
        },
    ),
    migrations.CreateModel(
        name='ExportMember',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('number', models.PositiveIntegerField(help_text='From 1, without gaps.')),
            ('position', models.PositiveBigIntegerField(help_text='Bytes of the file before this part.')),
            ('rows', models.PositiveIntegerField()),
            ('data', models.BinaryField(max_length=1048576)),
            ('export', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='parts', to='partnerapi.export')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('export', 'number'), name='export_members_are_numbered'), models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(models.Func(models.F('data'), function='octet_length', output_field=models.IntegerField()), 1048576), name='export_member_is_small')],
        },
    ),
    migrations.CreateModel(
        name='IdempotencyRecord',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('key', models.UUIDField()),
            ('fingerprint', models.BinaryField(max_length=32)),
            ('operation_name', models.CharField(max_length=200, null=True)),
            ('body', models.BinaryField(null=True)),
            ('created_at', models.DateTimeField()),
            ('expires_at', models.DateTimeField(db_index=True, null=True)),
            ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), db_default=[], size=None)),
            ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('partner', 'key'), name='one_answer_per_partner_and_key'), models.CheckConstraint(condition=models.Q(models.Q(('body__isnull', True), ('expires_at__isnull', True)), models.Q(('body__isnull', False), ('expires_at__isnull', False)), _connector='OR'), name='idempotency_record_expires_when_it_is_answered')],
        },
    ),
    migrations.CreateModel(
        name='JobRun',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('job', models.CharField(max_length=100)),
            ('started_at', models.DateTimeField()),
            ('seconds', models.FloatField()),
            ('result', models.CharField(choices=[('BEGUN', 'Begun'), ('DONE', 'Done'), ('FAILED', 'Failed')], max_length=6)),
            ('detail', models.TextField(blank=True)),
        ],
        options={
            'indexes': [models.Index(fields=['job', '-started_at'], name='job_run_latest')],
            'constraints': [models.CheckConstraint(condition=models.Q(('seconds__gte', 0)), name='job_run_took_time'), models.CheckConstraint(condition=models.Q(('result__in', ['BEGUN', 'DONE', 'FAILED'])), name='job_run_result_is_known')],
        },
    ),
]
REPLACED = """
    0001_initial 0002_kept_answers 0003_job_runs 0004_scopes_of_kept_answers
    0005_exports 0006_pruned_job_runs 0007_failed_sign_ins 0008_job_run_begins
    0009_staff_log 0010_log_by_object
"""


class Migration(migrations.Migration):
    replaces = [("partnerapi", name) for name in REPLACED.split()]
    initial = True

    dependencies = [
        ('accounts', '0025_baseline'),
    ]

    operations = [
        migrations.RunPython(refuse_without_baseline),
        migrations.SeparateDatabaseAndState(state_operations=MODELS),
    ]

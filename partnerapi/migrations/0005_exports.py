import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.lookups
import uuid_utils.compat
from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

# What an export says of its file is what its members are, whoever writes them.
FOLLOW_MEMBERS = trigger_function(
    "partnerapi_follow_members",
    "partnerapi_exportmember",
    """
    UPDATE partnerapi_export e SET members = NEW.number, rows = e.rows + NEW.rows,
        size_bytes = NEW.position + octet_length(NEW.data)
    WHERE e.id = NEW.export_id AND e.status = 'RUNNING' AND NOT e.is_written
        AND e.members = NEW.number - 1 AND e.size_bytes = NEW.position;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Member % at byte % is not the next of export %.',
            NEW.number, NEW.position, NEW.export_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER partnerapi_follow_members BEFORE INSERT ON partnerapi_exportmember
    FOR EACH ROW EXECUTE FUNCTION partnerapi_follow_members();
"""

KEEP_EXPORTS = trigger_function(
    "partnerapi_keep_exports",
    "partnerapi_export",
    """
    IF (NEW.id, NEW.partner_id, NEW.connection, NEW.issuer_id, NEW.token_id,
            NEW.last_sequence, NEW.created_at)
        IS DISTINCT FROM (OLD.id, OLD.partner_id, OLD.connection, OLD.issuer_id,
            OLD.token_id, OLD.last_sequence, OLD.created_at)
    THEN
        RAISE EXCEPTION 'What export % was asked for stays as it is.', OLD.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF (OLD.status, NEW.status) NOT IN (
        ('WAITING', 'WAITING'), ('WAITING', 'RUNNING'), ('WAITING', 'FAILED'),
        ('RUNNING', 'RUNNING'), ('RUNNING', 'READY'), ('RUNNING', 'FAILED'),
        ('READY', 'EXPIRED'))
    THEN
        RAISE EXCEPTION 'Export % is % and can not become %.', OLD.id, OLD.status,
            NEW.status USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER partnerapi_keep_exports BEFORE UPDATE ON partnerapi_export
    FOR EACH ROW EXECUTE FUNCTION partnerapi_keep_exports();
"""

PRUNE = function(
    "partnerapi_prune_exports(most integer)",
    "bigint",
    """
    UPDATE partnerapi_export SET status = 'EXPIRED'
    WHERE status = 'READY' AND expires_at <= clock_timestamp();
    DELETE FROM partnerapi_exportmember WHERE id IN (
        SELECT m.id FROM partnerapi_export e
        JOIN partnerapi_exportmember m ON m.export_id = e.id
        WHERE e.status IN ('FAILED', 'EXPIRED')
        LIMIT most FOR UPDATE OF m SKIP LOCKED);
    GET DIAGNOSTICS deleted = ROW_COUNT;
    IF deleted = 0 THEN
        DELETE FROM partnerapi_export WHERE id IN (
            SELECT e.id FROM partnerapi_export e
            WHERE e.status IN ('FAILED', 'EXPIRED')
                AND e.ended_at <= clock_timestamp() - interval '30 days'
                AND NOT EXISTS (
                    SELECT FROM partnerapi_exportmember m WHERE m.export_id = e.id)
            LIMIT most FOR UPDATE SKIP LOCKED);
        GET DIAGNOSTICS deleted = ROW_COUNT;
    END IF;
    RETURN deleted;
    """,
    declare="deleted bigint;",
)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_settled_at'),
        ('partnerapi', '0004_scopes_of_kept_answers'),
    ]

    operations = [
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.UUIDField(default=uuid_utils.compat.uuid7, editable=False, primary_key=True, serialize=False)),
                ('connection', models.CharField(choices=[('HOLDERS', 'Holders'), ('TRANSACTIONS', 'Transactions'), ('LEGACY_SHAREHOLDERS', 'Legacy shareholders'), ('ACCOUNTS', 'Accounts')], max_length=19)),
                ('issuer_id', models.UUIDField(null=True)),
                ('token_id', models.UUIDField(null=True)),
                ('date', models.DateTimeField(help_text='The instant of its rows.', null=True)),
                ('last_sequence', models.BigIntegerField(help_text='The last of the transactions that it holds.', null=True)),
                ('status', models.CharField(choices=[('WAITING', 'Waiting'), ('RUNNING', 'Running'), ('READY', 'Ready'), ('FAILED', 'Failed'), ('EXPIRED', 'Expired')], db_default='WAITING', default='WAITING', max_length=7)),
                ('place', models.PositiveSmallIntegerField(help_text="Which of the partner's exports at work it is.", null=True)),
                ('cursor', models.TextField(help_text='Of the last row that is written.', null=True)),
                ('is_written', models.BooleanField(default=False, help_text='Every row is written; not all may be paid.')),
                ('members', models.PositiveIntegerField(default=0)),
                ('rows', models.PositiveBigIntegerField(default=0)),
                ('size_bytes', models.PositiveBigIntegerField(default=0)),
                ('charged', models.PositiveBigIntegerField(default=0, help_text="Points that the partner's budget has given for it.")),
                ('attempts', models.PositiveSmallIntegerField(default=0, help_text='How often it was taken up since its last page.')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When a worker shall take it up, or again.')),
                ('reason', models.CharField(help_text='Why it failed.', max_length=500, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ended_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('partner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.partner')),
            ],
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
        ),
        migrations.AddIndex(
            model_name='export',
            index=models.Index(fields=['partner', 'status'], name='exports_of_partner'),
        ),
        migrations.AddIndex(
            model_name='export',
            index=models.Index(condition=models.Q(('status__in', ['WAITING', 'RUNNING'])), fields=['status', 'due_at'], name='exports_to_write'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.UniqueConstraint(fields=('partner', 'place'), name='exports_at_work_have_their_places'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('place__gte', 1), ('place__isnull', False), ('place__lte', 2), ('status', 'RUNNING')), models.Q(('place__isnull', True), ('status__in', ['WAITING', 'READY', 'FAILED', 'EXPIRED'])), _connector='OR'), name='export_has_a_place_while_it_runs'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('connection', 'HOLDERS'), ('issuer_id__isnull', False)), models.Q(('connection', 'TRANSACTIONS'), ('issuer_id__isnull', False), ('last_sequence__isnull', False), ('token_id__isnull', False)), models.Q(('connection', 'LEGACY_SHAREHOLDERS'), ('issuer_id__isnull', False)), models.Q(('connection', 'ACCOUNTS'), ('issuer_id__isnull', True)), _connector='OR'), name='export_names_what_it_is_of'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'READY'), _negated=True), models.Q(('date__isnull', False), ('expires_at__isnull', False), ('is_written', True)), _connector='OR'), name='export_is_ready_when_it_is_written'),
        ),
        migrations.AddConstraint(
            model_name='export',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'FAILED'), _negated=True), ('reason__isnull', False), _connector='OR'), name='export_failed_for_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='exportmember',
            constraint=models.UniqueConstraint(fields=('export', 'number'), name='export_members_are_numbered'),
        ),
        migrations.AddConstraint(
            model_name='exportmember',
            constraint=models.CheckConstraint(condition=django.db.models.lookups.LessThanOrEqual(models.Func(models.F('data'), function='octet_length', output_field=models.IntegerField()), 1048576), name='export_member_is_small'),
        ),
        # Compressed already, it would only be tried again.
        migrations.RunSQL(
            "ALTER TABLE partnerapi_exportmember ALTER data SET STORAGE EXTERNAL",
            migrations.RunSQL.noop,
        ),
        migrations.RunSQL(
            FOLLOW_MEMBERS,
            drop(
                "partnerapi_follow_members()",
                triggers={"partnerapi_follow_members": "partnerapi_exportmember"},
            ),
        ),
        migrations.RunSQL(
            KEEP_EXPORTS,
            drop(
                "partnerapi_keep_exports()",
                triggers={"partnerapi_keep_exports": "partnerapi_export"},
            ),
        ),
        migrations.RunSQL(PRUNE, drop("partnerapi_prune_exports(integer)")),
    ]

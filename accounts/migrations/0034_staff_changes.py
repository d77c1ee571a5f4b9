"""A person whose access somebody else changed decides nothing for 24 hours.

Changes begin to count with this migration, and what came before it does not.
"""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"

REFUSE_CHANGE = """
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_staffchange FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""

# Active staff that may decide any kind of request.
DECIDERS = function(
    "approvals_deciders()",
    "SETOF accounts_user",
    r"""
    RETURN QUERY SELECT u.* FROM accounts_user u
        WHERE u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts' AND c.model = 'approvalrequest'
            WHERE p.codename LIKE 'decide\_%' AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = u.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = u.id AND given.permission_id = p.id))));
    """,
)

# Of changes before `moment`; NULL: the person may decide.
RESTS_UNTIL = function(
    "approvals_rests_until(whom uuid, moment timestamptz)",
    "timestamptz",
    """
    RETURN (SELECT max(c.at) + interval '24 hours' FROM accounts_staffchange c
        WHERE c.person_id = whom AND c.what <> 'APPOINTED'
            AND c.at > moment - interval '24 hours' AND c.at <= moment
            AND NOT EXISTS (SELECT FROM accounts_staffchange a
                WHERE a.person_id = whom AND a.what = 'APPOINTED' AND a.id > c.id));
    """,
)

# One e-mail tells a recipient of all changes of a transaction.
NOTE = function(
    "accounts_note_staff(whom uuid, happened text, more text, line bigint, former text)",
    "void",
    """
    PERFORM FROM accounts_user u WHERE u.id = whom AND u.is_staff;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    INSERT INTO accounts_staffchange (person_id, what, detail, at, change_id, recorded_in)
    SELECT whom, happened, left(coalesce(more, ''), 300), c.at, line,
        pg_current_xact_id()::text::bigint
    FROM accounts_rowchange c WHERE c.id = line;
    SELECT min(c.id) INTO STRICT first_change FROM accounts_staffchange c
        WHERE c.recorded_in = pg_current_xact_id()::text::bigint
            AND c.at >= transaction_timestamp();
    INSERT INTO accounts_staffnotice (change_id, recipient, tries, error)
    SELECT first_change, told.email, 0, '' FROM (
        SELECT d.email FROM approvals_deciders() d
        UNION SELECT u.email FROM accounts_user u WHERE u.id = whom
        UNION SELECT former
    ) AS told WHERE told.email <> ''
    ON CONFLICT DO NOTHING;
    """,
    declare="first_change bigint;",
)

# The history's own lines are followed: the application can write none. What people do
# to their own password, address and device is theirs to do.
FOLLOW = trigger_function(
    "accounts_follow_staff",
    "accounts_rowchange",
    """
    CASE NEW.table_name
    WHEN 'accounts_user' THEN
        whom := NEW.row_id;
        SELECT NEW.who = CASE WHEN NEW.before ? 'email' THEN NEW.before ->> 'email'
            ELSE u.email END INTO is_own
            FROM accounts_user u WHERE u.id = whom;
        PERFORM accounts_note_staff(whom, t.happened, t.more, NEW.id,
            NEW.before ->> 'email')
        FROM (VALUES
            ('MADE', '', (NEW.after ->> 'is_staff')::boolean),
            ('SUPERUSER', '', (NEW.after ->> 'is_superuser')::boolean),
            ('REACTIVATED', '', NEW.operation = 'UPDATE'
                AND (NEW.after ->> 'is_active')::boolean),
            ('PASSWORD', '', NEW.operation = 'UPDATE' AND NEW.after ? 'password'
                AND is_own IS NOT TRUE),
            ('LOGIN', concat_ws(' → ', NEW.before ->> 'email', NEW.after ->> 'email'),
                NEW.operation = 'UPDATE' AND NEW.after ? 'email'
                AND is_own IS NOT TRUE),
            ('IDENTITY', NEW.before ->> 'id',
                NEW.operation = 'UPDATE' AND NEW.after ? 'id')
        ) AS t (happened, more, is_so) WHERE t.is_so;
    WHEN 'accounts_user_groups' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'GROUP', (
                SELECT g.name FROM auth_group g
                WHERE g.id = (NEW.after ->> 'group_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'accounts_user_user_permissions' THEN
        IF NEW.row_id = coalesce(NEW.after ->> 'user_id', NEW.row_id) THEN
            PERFORM accounts_note_staff(NEW.row_id::uuid, 'RIGHT', (
                SELECT p.codename FROM auth_permission p
                WHERE p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL);
        END IF;
    WHEN 'auth_group_permissions' THEN
        -- A release gives the roles their rights; only the owner migrates.
        IF NEW.row_id = coalesce(NEW.after ->> 'group_id', NEW.row_id) AND NOT (
            NEW.source = 'migrate' AND pg_has_role(session_user, (
                SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')) THEN
            PERFORM accounts_note_staff(m.user_id, 'GROUP_RIGHT', (
                SELECT g.name || ': ' || p.codename FROM auth_group g, auth_permission p
                WHERE g.id = m.group_id
                    AND p.id = (NEW.after ->> 'permission_id')::integer), NEW.id, NULL)
            FROM accounts_user_groups m WHERE m.group_id = NEW.row_id::integer;
        END IF;
    WHEN 'otp_totp_totpdevice' THEN
        whom := NEW.row_id;
        PERFORM FROM accounts_user u WHERE u.id = whom AND u.email = NEW.who;
        IF NOT FOUND THEN
            PERFORM accounts_note_staff(whom, 'DEVICE', CASE NEW.operation
                WHEN 'INSERT' THEN 'added' WHEN 'DELETE' THEN 'removed'
                ELSE 'changed' END, NEW.id, NULL);
        END IF;
    END CASE;
    RETURN NULL;
    """,
    declare="whom uuid; is_own boolean;",
) + """
CREATE TRIGGER accounts_follow_staff AFTER INSERT ON accounts_rowchange
    FOR EACH ROW WHEN (NEW.table_name = 'otp_totp_totpdevice'
        OR NEW.after IS NOT NULL AND (
            NEW.table_name IN ('accounts_user_groups', 'accounts_user_user_permissions',
                'auth_group_permissions')
            OR NEW.table_name = 'accounts_user' AND NEW.after ?| ARRAY['is_staff',
                'is_superuser', 'is_active', 'password', 'email', 'id']))
    EXECUTE FUNCTION accounts_follow_staff();
"""

# Only the owner can call it, and a command of the owner's does.
APPOINT = function(
    "accounts_appoint(whom uuid)",
    "void",
    """
    INSERT INTO accounts_rowchange
        (at, table_name, row_id, operation, after, who, source, request_id)
    VALUES (clock_timestamp(), 'accounts_staffchange', whom, 'INSERT',
        jsonb_build_object('person_id', whom, 'what', 'APPOINTED'),
        left(coalesce(author ->> 'who', session_user), 254),
        left(coalesce(author ->> 'from', 'SQL'), 200), '')
    RETURNING id INTO line;
    PERFORM accounts_note_staff(whom, 'APPOINTED', '', line, NULL);
    """,
    declare="""line bigint;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;""",
)

# A request of somebody who rests waits as well: else one person would file in the name
# of a new colleague, and approve. Taking back one's own is no decision.
CHECK_REST = function(
    "approvals_check_rest(request uuid, decider uuid, approves boolean,"
    " moment timestamptz)",
    "void",
    f"""
    FOR person, what_for, until IN
        SELECT u.email, p.what_for, approvals_rests_until(u.id, moment)
        FROM accounts_approvalrequest r
        CROSS JOIN LATERAL (VALUES
            (CASE WHEN approves OR decider <> r.filed_by_id THEN decider END, 'decides'),
            (CASE WHEN approves THEN r.filed_by_id END, 'filed')) AS p (id, what_for)
        JOIN accounts_user u ON u.id = p.id
        WHERE r.id = request
    LOOP
        IF until IS NOT NULL AND what_for = 'decides' THEN
            RAISE EXCEPTION '% cannot decide a request before % UTC: somebody else '
                'changed their access less than 24 hours earlier. See Changes of staff.',
                person, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
                {RESTRICTED};
        ELSIF until IS NOT NULL THEN
            RAISE EXCEPTION 'This request cannot be approved before % UTC: somebody else '
                'changed the access of %, who filed it, less than 24 hours earlier. '
                'See Changes of staff.',
                to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), person
                {RESTRICTED};
        END IF;
    END LOOP;
    """,
    declare="person text; what_for text; until timestamptz;",
)

# After the row, not before it: what the same statement changes about the decider has
# its line in the history by then.
DECIDE = trigger_function(
    "approvals_rested",
    "accounts_approvaldecision",
    """
    PERFORM approvals_check_rest(NEW.request_id, NEW.decided_by_id, NEW.is_approved,
        clock_timestamp());
    RETURN NULL;
    """,
) + """
CREATE TRIGGER approvals_rested AFTER INSERT ON accounts_approvaldecision
    FOR EACH ROW EXECUTE FUNCTION approvals_rested();
"""

# A change that was not committed yet when the decision was taken is found when it is
# used.
USE = trigger_function(
    "approvals_used_rested",
    "accounts_approvaloutcome",
    """
    PERFORM approvals_check_rest(d.request_id, d.decided_by_id, TRUE, d.decided_at)
        FROM accounts_approvaldecision d WHERE d.request_id = NEW.request_id;
    RETURN NULL;
    """,
) + """
CREATE TRIGGER approvals_used_rested AFTER INSERT ON accounts_approvaloutcome
    FOR EACH ROW WHEN (NEW.is_executed) EXECUTE FUNCTION approvals_used_rested();
"""

# The release before adds a device, unconfirmed, without saying who does.
ENROL = trigger_function(
    "accounts_enrol_device",
    "otp_totp_totpdevice",
    f"""
    IF TG_OP = 'UPDATE' THEN
        IF (NEW.user_id, NEW.key, NEW.confirmed, NEW.digits, NEW.step, NEW.t0,
                NEW.tolerance) IS NOT DISTINCT FROM (OLD.user_id, OLD.key,
                OLD.confirmed, OLD.digits, OLD.step, OLD.t0, OLD.tolerance) THEN
            RETURN NEW;
        END IF;
        is_theirs := NEW.user_id = OLD.user_id;
    ELSIF author IS NULL AND NOT NEW.confirmed THEN
        RETURN NEW;
    END IF;
    PERFORM FROM accounts_user u
        WHERE u.id = NEW.user_id AND u.email = author ->> 'who' AND is_theirs;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A second factor is enrolled by its owner only: remove it, and '
            'they enrol another when they sign in.' {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
    declare="""is_theirs boolean := TRUE;
    author jsonb := nullif(current_setting('partnerapi.author', TRUE), '')::jsonb;""",
) + """
CREATE TRIGGER accounts_enrol_device BEFORE INSERT OR UPDATE ON otp_totp_totpdevice
    FOR EACH ROW EXECUTE FUNCTION accounts_enrol_device();
"""

FUNCTIONS = "".join(
    (REFUSE_CHANGE, DECIDERS, RESTS_UNTIL, NOTE, FOLLOW, APPOINT, CHECK_REST, DECIDE)
    + (USE, ENROL)
)
REMOVED = drop(
    "accounts_follow_staff()",
    "approvals_rested()",
    "approvals_used_rested()",
    "accounts_enrol_device()",
    "approvals_check_rest(uuid, uuid, boolean, timestamptz)",
    "accounts_appoint(uuid)",
    "accounts_note_staff(uuid, text, text, bigint, text)",
    "approvals_rests_until(uuid, timestamptz)",
    "approvals_deciders()",
    triggers={
        "accounts_refuse_change": "accounts_staffchange",
        "accounts_follow_staff": "accounts_rowchange",
        "approvals_rested": "accounts_approvaldecision",
        "approvals_used_rested": "accounts_approvaloutcome",
        "accounts_enrol_device": "otp_totp_totpdevice",
    },
)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0033_counted_accounts"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [
        migrations.CreateModel(
            name='StaffChange',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('what', models.CharField(choices=[('MADE', 'Made a member of staff'), ('SUPERUSER', 'Made a superuser'), ('REACTIVATED', 'Reactivated'), ('PASSWORD', 'Password set'), ('LOGIN', 'Email address changed'), ('IDENTITY', 'Id changed'), ('GROUP', 'Added to a group'), ('GROUP_RIGHT', 'Right granted to one of their groups'), ('RIGHT', 'Right given'), ('DEVICE', 'Second factor changed'), ('APPOINTED', "Appointed by the owner's command")], max_length=11)),
                ('detail', models.CharField(blank=True, max_length=300)),
                ('at', models.DateTimeField(db_index=True)),
                ('recorded_in', models.BigIntegerField(editable=False, help_text='The database transaction that created it.')),
                ('change', models.ForeignKey(db_index=False, help_text='The log line that says who did it, and from where.', on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.rowchange')),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='staff_changes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'change of staff',
                'verbose_name_plural': 'changes of staff',
            },
        ),
        migrations.CreateModel(
            name='StaffNotice',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('recipient', models.CharField(max_length=254)),
                ('tries', models.SmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('sent_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
                ('change', models.ForeignKey(db_index=False, help_text='The first change of the transaction.', on_delete=django.db.models.deletion.PROTECT, related_name='notices', to='accounts.staffchange')),
            ],
            options={
                'verbose_name': 'e-mail of a change of staff',
                'verbose_name_plural': 'e-mails of changes of staff',
            },
        ),
        migrations.AddIndex(
            model_name='staffchange',
            index=models.Index(fields=['person', 'at'], name='staff_change_of_person'),
        ),
        migrations.AddIndex(
            model_name='staffnotice',
            index=models.Index(condition=models.Q(('sent_at', None), ('tries__lt', 10)), fields=['next_try_at'], name='notice_is_due'),
        ),
        migrations.AddConstraint(
            model_name='staffnotice',
            constraint=models.UniqueConstraint(fields=('change', 'recipient'), name='notice_is_sent_once'),
        ),
        migrations.RunSQL(FUNCTIONS, REMOVED),
    ]

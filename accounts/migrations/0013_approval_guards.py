"""What a policy names happens only as somebody asked for it and another approved."""

from django.db import migrations

from partnerapi.core.guards import drop, function, trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"

REFUSE_CHANGE = "".join(
    f"""
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_{table} FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""
    for table in ("approvalrequest", "approvaldecision", "approvaloutcome")
)

# Of staff who sign in, and have this right, as Django has it.
MAY = function(
    "approvals_may(person uuid, wanted text)",
    "boolean",
    """
    RETURN EXISTS (
        SELECT FROM accounts_user u
        WHERE u.id = person AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
            SELECT FROM auth_permission p
            JOIN django_content_type c ON c.id = p.content_type_id
                AND c.app_label = 'accounts' AND c.model = 'approvalrequest'
            WHERE p.codename = lower(wanted) AND (
                EXISTS (SELECT FROM accounts_user_user_permissions own
                    WHERE own.user_id = u.id AND own.permission_id = p.id)
                OR EXISTS (SELECT FROM accounts_user_groups member
                    JOIN auth_group_permissions given
                        ON given.group_id = member.group_id
                    WHERE member.user_id = u.id AND given.permission_id = p.id)))));
    """,
)

FILE = trigger_function(
    "approvals_file",
    "accounts_approvalrequest",
    f"""
    NEW.filed_at := clock_timestamp();
    IF NEW.expires_at <= NEW.filed_at
        OR NEW.expires_at > NEW.filed_at + interval '31 days' THEN
        RAISE EXCEPTION 'A request expires after it was filed, and within 31 days.'
            {RESTRICTED};
    END IF;
    IF NOT approvals_may(NEW.filed_by_id, 'file_' || NEW.kind) THEN
        RAISE EXCEPTION 'Who files a request is an active member of staff, and has the '
            'right to ask for its kind: %.', lower(NEW.kind) {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER approvals_file BEFORE INSERT ON accounts_approvalrequest
    FOR EACH ROW EXECUTE FUNCTION approvals_file();
"""

DECIDE = trigger_function(
    "approvals_decide",
    "accounts_approvaldecision",
    f"""
    SELECT * INTO STRICT r FROM accounts_approvalrequest
        WHERE id = NEW.request_id FOR UPDATE;
    IF NEW.decided_by_id = r.filed_by_id
        OR NOT approvals_may(NEW.decided_by_id, 'decide_' || r.kind) THEN
        RAISE EXCEPTION 'Who decides a request is an active member of staff, has the '
            'right to decide its kind, and is not who filed it.' {RESTRICTED};
    END IF;
    NEW.decided_at := clock_timestamp();
    IF r.expires_at <= NEW.decided_at OR EXISTS (
        SELECT FROM accounts_approvaloutcome WHERE request_id = r.id) THEN
        RAISE EXCEPTION 'Request % has expired, or was overtaken.', r.id {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
    declare="r accounts_approvalrequest;",
) + """
CREATE TRIGGER approvals_decide BEFORE INSERT ON accounts_approvaldecision
    FOR EACH ROW EXECUTE FUNCTION approvals_decide();
"""

# Other functions of the owner call it; a transaction names the requests that it
# carries out. The key of outcomes lets a request be used once.
USE = function(
    "approvals_use(wanted text, said jsonb, amount numeric, entry_token uuid,"
    " entry_number bigint)",
    "uuid",
    f"""
    PERFORM FROM accounts_approvalpolicy p WHERE p.kind = wanted
        AND (NOT p.is_required OR amount < p.from_amount);
    IF FOUND THEN
        RETURN NULL;
    END IF;
    SELECT r.id INTO used
    FROM accounts_approvalrequest r
    JOIN accounts_approvaldecision d ON d.request_id = r.id AND d.is_approved
    WHERE r.id = ANY (string_to_array(
            nullif(current_setting('partnerapi.approvals', TRUE), ''), ',')::uuid[])
        AND r.kind = wanted AND r.content - 'with' = said
        AND r.expires_at > clock_timestamp()
        AND NOT EXISTS (
            SELECT FROM accounts_approvaloutcome o WHERE o.request_id = r.id)
        AND d.decided_by_id <> r.filed_by_id
        AND approvals_may(d.decided_by_id, 'decide_' || r.kind)
    ORDER BY r.id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'This needs an approval by a second person that has not '
            'expired, was not used and says the same: % %.', wanted, said {RESTRICTED};
    END IF;
    INSERT INTO accounts_approvaloutcome
        (request_id, is_executed, detail, token_id, number)
    VALUES (used, TRUE, '', entry_token, entry_number);
    RETURN used;
    """,
    declare="used uuid;",
)

OVERTAKE = function(
    "approvals_overtake(request uuid, why text)",
    "void",
    """
    PERFORM FROM accounts_approvalrequest r WHERE r.id = request FOR UPDATE;
    INSERT INTO accounts_approvaloutcome (request_id, is_executed, detail)
    SELECT request, FALSE, left(why, 500) WHERE NOT EXISTS (
        SELECT FROM accounts_approvaloutcome o WHERE o.request_id = request);
    """,
)

CLOSE = trigger_function(
    "approvals_of_closing",
    "accounts_accountstatuschange",
    f"""
    used := approvals_use('CLOSING', jsonb_build_object('account', NEW.account_id,
        'number', NEW.number, 'reason', NEW.reason), NULL, NULL, NULL);
    IF used IS NOT NULL AND NOT EXISTS (
        SELECT FROM accounts_approvaldecision d
        JOIN accounts_user u ON u.id = d.decided_by_id
        WHERE d.request_id = used AND u.email = NEW.approved_by) THEN
        RAISE EXCEPTION 'The closing of an account names who approved it.' {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
    declare="used uuid;",
) + """
CREATE CONSTRAINT TRIGGER approvals_of_closing
    AFTER INSERT ON accounts_accountstatuschange DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.is_staff AND NEW.status = 'CLOSED')
    EXECUTE FUNCTION approvals_of_closing();
"""

ISSUE_KEY = trigger_function(
    "approvals_of_key",
    "accounts_apikey",
    """
    PERFORM approvals_use('KEY', jsonb_build_object('partner', NEW.partner_id,
        'scopes', ARRAY(SELECT s FROM unnest(NEW.scopes) AS s ORDER BY s COLLATE "C"),
        'expiresAt', floor(extract(epoch FROM NEW.expires_at))), NULL, NULL, NULL);
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER approvals_of_key
    AFTER INSERT ON accounts_apikey DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION approvals_of_key();
"""

# What a key may do was approved; it may only become less.
KEEP_KEYS = trigger_function(
    "accounts_keep_keys",
    "accounts_apikey",
    f"""
    RAISE EXCEPTION 'Key % of partner % stays: it gets no further scope, no later '
        'end, no other partner and, but for another pepper, no other secret, is not '
        'revived, and is not deleted. Issue another.',
        OLD.last_four, OLD.partner_id {RESTRICTED};
    """,
) + """
CREATE TRIGGER accounts_keep_keys BEFORE UPDATE ON accounts_apikey
    FOR EACH ROW WHEN (NEW.partner_id <> OLD.partner_id
        OR NOT NEW.scopes <@ OLD.scopes
        OR NEW.secret_digest <> OLD.secret_digest
            AND NEW.pepper_id IS NOT DISTINCT FROM OLD.pepper_id
        OR OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at
        OR OLD.expires_at IS NOT NULL
            AND coalesce(NEW.expires_at, 'infinity') > OLD.expires_at)
    EXECUTE FUNCTION accounts_keep_keys();
CREATE TRIGGER accounts_delete_no_key BEFORE DELETE ON accounts_apikey
    FOR EACH ROW EXECUTE FUNCTION accounts_keep_keys();
"""

FUNCTIONS = "".join(
    (REFUSE_CHANGE, MAY, FILE, DECIDE, USE, OVERTAKE, CLOSE, ISSUE_KEY, KEEP_KEYS)
)
REMOVED = drop(
    "approvals_file()",
    "approvals_decide()",
    "approvals_of_closing()",
    "approvals_of_key()",
    "accounts_keep_keys()",
    "approvals_use(text, jsonb, numeric, uuid, bigint)",
    "approvals_overtake(uuid, text)",
    "approvals_may(uuid, text)",
    triggers={
        "approvals_file": "accounts_approvalrequest",
        "approvals_decide": "accounts_approvaldecision",
        "approvals_of_closing": "accounts_accountstatuschange",
        "approvals_of_key": "accounts_apikey",
        "accounts_keep_keys": "accounts_apikey",
        "accounts_delete_no_key": "accounts_apikey",
    },
)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0012_approvals"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.RunSQL(
            FUNCTIONS,
            REMOVED
            + "".join(
                f"DROP TRIGGER accounts_refuse_change ON accounts_{table};"
                for table in ("approvalrequest", "approvaldecision", "approvaloutcome")
            ),
        )
    ]

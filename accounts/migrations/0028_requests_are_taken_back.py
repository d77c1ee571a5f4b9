"""The person who filed a request takes it back while it waits: a refusal of their own."""

from django.db import migrations

from partnerapi.core.guards import trigger_function

RESTRICTED = "USING ERRCODE = 'restrict_violation'"

# Staff who sign in may take back what they have filed, whatever rights they have lost.
OF_FILER = """
    IF NEW.decided_by_id = r.filed_by_id AND NOT NEW.is_approved THEN
        PERFORM FROM accounts_user u
            WHERE u.id = NEW.decided_by_id AND u.is_active AND u.is_staff;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'Only an active member of staff takes a request back.'
                USING ERRCODE = 'restrict_violation';
        END IF;
    ELSIF """


def decide(condition: str) -> str:
    return trigger_function(
        "approvals_decide",
        "accounts_approvaldecision",
        f"""
    SELECT * INTO STRICT r FROM accounts_approvalrequest
        WHERE id = NEW.request_id FOR UPDATE;
    {condition}NEW.decided_by_id = r.filed_by_id
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
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0027_read_committed")]

    operations = [migrations.RunSQL(decide(OF_FILER.strip() + " "), decide("IF "))]

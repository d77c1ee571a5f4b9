from django.db import migrations, models
from django.db.models.functions import Now

from partnerapi.core.guards import drop, trigger_function

# A change says when it happened; the database says when it was told.
TIME_CHANGES = trigger_function(
    "accounts_time_change",
    "accounts_accountstatuschange",
    """
    NEW.recorded_at := clock_timestamp();
    RETURN NEW;
    """,
) + """
CREATE TRIGGER accounts_time_change BEFORE INSERT ON accounts_accountstatuschange
    FOR EACH ROW EXECUTE FUNCTION accounts_time_change();
"""

BEGIN_HISTORY = trigger_function(
    "accounts_begin_history",
    "accounts_account",
    """
    IF NOT EXISTS (
        SELECT FROM accounts_accountstatuschange WHERE account_id = NEW.id) THEN
        RAISE EXCEPTION 'Account % has no history; it begins with its opening.', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
    """,
    settings="SET enable_seqscan = off",
) + """
CREATE CONSTRAINT TRIGGER accounts_begin_history AFTER INSERT ON accounts_account
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION accounts_begin_history();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_staff_log_times")]

    operations = [
        migrations.AddField(
            "accountstatuschange",
            "recorded_at",
            models.DateTimeField(db_default=Now(), editable=False),
        ),
        migrations.RunSQL(
            TIME_CHANGES,
            drop(
                "accounts_time_change()",
                triggers={"accounts_time_change": "accounts_accountstatuschange"},
            ),
        ),
        migrations.RunSQL(
            BEGIN_HISTORY,
            drop(
                "accounts_begin_history()",
                triggers={"accounts_begin_history": "accounts_account"},
            ),
        ),
    ]

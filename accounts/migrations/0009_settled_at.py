import django.db.models.functions.datetime
from django.db import migrations, models

from partnerapi.core.guards import SEARCH_PATH, drop, function
from partnerapi.core.guards import trigger_function

# Who takes a time has a transaction's id before: so nobody who looks for writers
# afterwards passes over it.
RECORD = trigger_function(
    "accounts_record_time",
    "accounts_account",
    """
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        writer := pg_current_xact_id();
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
    """,
    declare="writer xid8;",
) + """
CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON accounts_account
    FOR EACH ROW EXECUTE FUNCTION accounts_record_time();
"""

# Of a session that a role may not look into, only its transaction's id is shown.
WRITERS = """SELECT a.pid, a.xact_start, a.backend_start IS NOT NULL AS is_known
        FROM pg_stat_activity a
        WHERE a.datname = current_database() AND a.usesysid IS NOT NULL
            AND a.backend_xid IS NOT NULL"""
# The application looks into its own sessions, the owner into its own. Of anybody
# else's transaction nothing is known but that the server was there before.
OWN_WRITERS = function(
    "accounts_own_writers()",
    "TABLE (pid integer, began timestamptz)",
    f"""
    RETURN QUERY SELECT w.pid, w.xact_start FROM ({WRITERS}) AS w WHERE w.is_known;
    """,
)
# Who writes has an id before it takes the time of what it writes, and has lost the id
# only when everybody sees what it wrote. So who is not among the writers now has
# committed before `taken`, or takes a later time.
SETTLED = f"""
CREATE FUNCTION accounts_settled_at() RETURNS timestamptz LANGUAGE plpgsql
{SEARCH_PATH} AS $$
DECLARE
    taken timestamptz := clock_timestamp();
BEGIN
    PERFORM pg_stat_clear_snapshot();
    RETURN (
        SELECT least(taken, min(CASE WHEN w.is_known OR o.pid IS NOT NULL
            THEN coalesce(w.xact_start, o.began) ELSE pg_postmaster_start_time() END))
        FROM ({WRITERS}) AS w LEFT JOIN accounts_own_writers() o ON o.pid = w.pid);
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_recorded_status_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='account',
            name='recorded_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False, help_text="When the row was written last, by the database's clock."),
        ),
        migrations.RunSQL(
            RECORD,
            drop("accounts_record_time()", triggers={"update_time": "accounts_account"}),
        ),
        migrations.RunSQL(OWN_WRITERS, drop("accounts_own_writers()")),
        migrations.RunSQL(SETTLED, drop("accounts_settled_at()")),
    ]

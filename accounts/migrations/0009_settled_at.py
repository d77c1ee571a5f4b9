import django.db.models.functions.datetime
from django.db import migrations, models

from partnerapi.core.guards import SEARCH_PATH, drop, function
from partnerapi.core.guards import trigger_function

RECORD = trigger_function(
    "accounts_record_time",
    "accounts_account",
    """
    IF TG_OP = 'INSERT' OR NEW IS DISTINCT FROM OLD THEN
        NEW.recorded_at := clock_timestamp();
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER update_time BEFORE INSERT OR UPDATE ON accounts_account
    FOR EACH ROW EXECUTE FUNCTION accounts_record_time();
"""

WRITING = """SELECT min(xact_start) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_xid IS NOT NULL"""
# A role sees only what its own sessions do: the owner's are asked for as the owner.
FIRST_WRITER = function(
    "accounts_first_writer()", "timestamptz", f"RETURN ({WRITING});"
)
# Who writes has an id in the moment that it does, and has lost it only when everybody
# sees what it wrote. So who is not among the writers now has committed before `taken`,
# or will write after it.
SETTLED = f"""
CREATE FUNCTION accounts_settled_at() RETURNS timestamptz LANGUAGE plpgsql
{SEARCH_PATH} AS $$
DECLARE
    taken timestamptz := clock_timestamp();
BEGIN
    PERFORM pg_stat_clear_snapshot();
    RETURN least(taken, ({WRITING}), accounts_first_writer());
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
        migrations.AddIndex(
            model_name='account',
            index=models.Index(fields=['partner', 'recorded_at'], name='account_recorded'),
        ),
        migrations.RunSQL(
            RECORD,
            drop("accounts_record_time()", triggers={"update_time": "accounts_account"}),
        ),
        migrations.RunSQL(FIRST_WRITER, drop("accounts_first_writer()")),
        migrations.RunSQL(SETTLED, drop("accounts_settled_at()")),
    ]

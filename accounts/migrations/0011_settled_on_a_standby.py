"""On a standby, too, it is known up to which instant everything is committed."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import SEARCH_PATH, again, drop

before = import_module("accounts.migrations.0009_settled_at")

# A standby does not see who writes on the primary. `known` is an instant that was
# settled there when the standby had not yet replayed what it has now. Once the primary
# has ended, and the standby receives nothing, nobody writes any more.
SETTLED = f"""
CREATE FUNCTION accounts_settled_at(known timestamptz, has_ended boolean)
RETURNS timestamptz LANGUAGE plpgsql {SEARCH_PATH} AS $$
DECLARE
    replayed timestamptz;
BEGIN
    IF NOT pg_is_in_recovery() THEN
        RETURN accounts_settled_at();
    END IF;
    replayed := coalesce(pg_last_xact_replay_timestamp(),
        (SELECT checkpoint_time FROM pg_control_checkpoint()));
    IF has_ended AND NOT EXISTS (SELECT FROM pg_stat_wal_receiver) THEN
        RETURN replayed;
    END IF;
    RETURN coalesce(known, replayed);
END $$;
"""
SIGNATURE = "accounts_settled_at(timestamptz, boolean)"
OLD = again(before.SETTLED)
HERE = OLD.replace(
    "    PERFORM pg_stat_clear_snapshot();",
    """    IF pg_is_in_recovery() THEN
        RETURN accounts_settled_at(NULL, FALSE);
    END IF;
    PERFORM pg_stat_clear_snapshot();""",
)


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0010_peppers"),
    ]

    operations = [
        migrations.RunSQL(SETTLED, drop(SIGNATURE)),
        migrations.RunSQL(HERE, OLD),
    ]

"""A table of the present is read without a row's lock, which the log would tell of.

A writer that is about to take a time marks what it writes, until its transaction ends.
A reader takes its instant first, and then waits for the writers that had marked
something of its issuers by then: those that mark it later take a later time.
"""

from django.db import migrations

from partnerapi.core.guards import (
    IN_A_SNAPSHOT,
    REFUSE_SNAPSHOT,
    SEARCH_PATH,
    drop,
    function,
    rewritten,
)

WRITERS = "hashtext('writers of the register')"
NAMES = "hashtextextended('names of holders', 0)"
"""The lock of `accounts_keep_names`."""
MOST_MARKS = 100

# Marks are shared, so that no writer waits for another's. A transaction with many marks
# everything, for a server has room for some thousand locks.
MARK = function(
    "register_mark(marked uuid[])",
    "void",
    f"""
    found := ARRAY(SELECT hashtext(m::text)::text FROM unnest(marked) AS m
        UNION SELECT unnest(string_to_array(
            current_setting('register.marks', TRUE), ' ')));
    IF cardinality(found) > {MOST_MARKS} THEN
        PERFORM pg_advisory_xact_lock_shared({WRITERS}, 0);
    ELSE
        PERFORM set_config('register.marks', array_to_string(found, ' '), TRUE);
        PERFORM pg_advisory_xact_lock_shared({WRITERS}, hashtext(m::text))
        FROM unnest(marked) AS m;
    END IF;
    """,
    declare="found text[];",
)


def as_oid(number: str) -> str:
    """How pg_locks shows 32 bits of an advisory lock's key."""
    return f"(({number})::bigint & 4294967295)::oid"


# Where a writer has committed, and only waits for a standby, what it wrote is
# not visible yet, and later than its transaction's begin.
INSTANT = f"""
CREATE FUNCTION register_instant(
    issuers uuid[], asked timestamptz, settled timestamptz)
RETURNS timestamptz LANGUAGE plpgsql {SEARCH_PATH} AS $$
DECLARE
    asked_at timestamptz := clock_timestamp();
    instant timestamptz := least(asked, asked_at);
    marks oid[];
    still text[];
    writers text[];
    limited interval := nullif(current_setting('lock_timeout'), '0')::interval;
BEGIN
    -- A session that only reads can wait for nobody, and answers for what is settled.
    IF current_setting('transaction_read_only')::boolean THEN
        RETURN least(asked, settled);
    END IF;
    IF asked <= settled THEN
        RETURN asked;
    END IF;
    IF {IN_A_SNAPSHOT} THEN
        {REFUSE_SNAPSHOT}
    END IF;
    marks := ARRAY(
        SELECT {as_oid("hashtext(i::text)")} FROM unnest(issuers) AS i
        UNION ALL SELECT {as_oid("hashtext(t.id::text)")} FROM issuers_token t
        WHERE t.issuer_id = ANY (issuers)
        UNION ALL SELECT 0::oid);
    LOOP
        PERFORM pg_stat_clear_snapshot();
        SELECT array_agg(l.virtualtransaction)
                FILTER (WHERE a.wait_event IS DISTINCT FROM 'SyncRep'),
            least(instant, min(a.xact_start) FILTER (WHERE a.wait_event = 'SyncRep'))
        INTO still, instant
        FROM pg_locks l LEFT JOIN LATERAL pg_stat_get_activity(l.pid) a ON TRUE
        WHERE l.locktype = 'advisory' AND l.granted AND l.pid <> pg_backend_pid()
            AND l.database = (
                SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
            AND (l.objsubid = 2 AND l.classid = {as_oid(WRITERS)}
                    AND l.objid = ANY (marks)
                OR l.objsubid = 1 AND l.classid = {as_oid(f"{NAMES} >> 32")}
                    AND l.objid = {as_oid(NAMES)} AND l.mode = 'ExclusiveLock')
            AND (writers IS NULL OR l.virtualtransaction = ANY (writers));
        IF still IS NULL THEN
            RETURN instant;
        END IF;
        writers := still;
        IF clock_timestamp() > asked_at + limited THEN
            RAISE EXCEPTION 'The register is being written to, and did not come free.'
                USING ERRCODE = 'lock_not_available';
        END IF;
        PERFORM pg_sleep(0.002);
    END LOOP;
END $$;
"""
INSTANT_OF = "register_instant(uuid[], timestamptz, timestamptz)"


class Migration(migrations.Migration):
    dependencies = [("issuers", "0049_counted_rows")]

    operations = [
        migrations.RunSQL(MARK, drop("register_mark(uuid[])")),
        rewritten(
            "register_hold(uuid[])",
            ("\nBEGIN\n", "\nBEGIN\n    PERFORM register_mark(tokens);\n"),
        ),
        rewritten(
            "register_time_token()",
            (
                "\nBEGIN\n",
                "\nBEGIN\n    PERFORM register_mark(ARRAY[NEW.issuer_id]);\n",
            ),
        ),
        migrations.RunSQL(INSTANT, drop(INSTANT_OF)),
    ]

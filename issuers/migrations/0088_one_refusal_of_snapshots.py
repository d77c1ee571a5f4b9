"""Writers call what refuses a snapshot, in place of a text of their own."""

from django.db import migrations

from partnerapi.core.guards import SNAPSHOT_CHECK, rewritten

CALL = "    PERFORM accounts_read_committed();\n"
SIGNATURES = (
    "binds_approve_holder(uuid, text, uuid, bigint, timestamp with time zone)",
    "binds_end_approval(text, uuid)",
    "binds_end_grant(text, uuid)",
    "binds_grant(uuid, text, uuid, uuid)",
    "binds_lift(text, uuid)",
    "binds_preview_rule(uuid, text, jsonb, bigint[], text)",
    "binds_restrict(uuid, text, bigint, text, uuid, numeric, timestamp with time zone, text, text)",
    "binds_rule(uuid, text, uuid, text, jsonb, text)",
    "register_keep_judged(bigint)",
    "events_announce_articles()",
    "register_instant(uuid[], timestamp with time zone, timestamp with time zone)",
    "register_note(uuid[], timestamp with time zone, timestamp with time zone)",
)
OTHERS = {
    "register_states(uuid[], bigint[], boolean)": (
        """    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
        'COMMITTED: the snapshot of another does not show what was committed since, '
        'such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
""",
        "        PERFORM accounts_read_committed();\n",
    ),
    "register_history(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], timestamp with time zone[], uuid[], bigint[], text[], timestamp with time zone[])": (
        """    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
""",
        "    PERFORM accounts_read_committed();\n",
    ),
    "register_open_accounts(uuid[], uuid[])": (
        """    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            USING ERRCODE = 'restrict_violation';
    END IF;
""",
        "    PERFORM accounts_read_committed();\n",
    ),
    "register_read(uuid[], uuid[], bigint[], boolean)": (
        """        IF current_setting('transaction_isolation') <> 'read committed' THEN
            RAISE EXCEPTION 'This is done in a transaction that is READ '
                'COMMITTED: the snapshot of another does not show what was committed '
                'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
        END IF;
""",
        "        PERFORM accounts_read_committed();\n",
    ),
    "register_write(text, uuid[], text[], bigint[], bigint[], numeric[], text[], uuid[], bigint[], uuid[], bigint[], text[], bigint)": (
        """    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ '
            'COMMITTED: the snapshot of another does not show what was committed '
            'since, such as a freeze.' USING ERRCODE = 'restrict_violation';
    END IF;
""",
        "    PERFORM accounts_read_committed();\n",
    ),
}


class Migration(migrations.Migration):
    dependencies = [("issuers", "0087_one_guard_a_table"), ("accounts", "0069_one_guard_a_table")]

    operations = [
        rewritten(signature, (SNAPSHOT_CHECK, CALL)) for signature in SIGNATURES
    ] + [rewritten(signature, change) for signature, change in OTHERS.items()]

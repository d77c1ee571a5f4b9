"""Keeps ids that tables of the past are answered by, and what else was left open.

Foreign keys are checked at the commit: until then a row can be deleted and made again
with its id, and be another one.
"""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import drop, function, trigger_function

chains = import_module("issuers.migrations.0012_ledger_chains")

RESTRICTED = chains.RESTRICTED
XID = "pg_current_xact_id()::text::bigint"

# A dump that is restored elsewhere keeps the numbers of the transactions that wrote it,
# and there they are given again. The number of the cluster tells them apart.
THIS_TRANSACTION = function(
    "register_transaction(salt bigint)",
    "bigint",
    """
    RETURN (SELECT hashtextextended(concat(
        system_identifier, ' ', pg_current_xact_id()), salt) FROM pg_control_system());
    """,
)
THIS = "(SELECT register_transaction(0))"


def replaced(statements: str, *changes: tuple[str, str]) -> str:
    """The statements, changed in places that each are there."""
    for before, after in changes:
        if before not in statements:
            raise ValueError(f"not in the statements: {before}")
        statements = statements.replace(before, after)
    return statements


def functions_of(statements: str) -> str:
    return statements.partition("\nCREATE TRIGGER")[0]


HOLD = replaced(chains.HOLD, (XID, THIS))
TIME_TOKEN = replaced(chains.TIME_TOKEN, (XID, THIS))
FOLLOW_PRICES = replaced(chains.FOLLOW_PRICES, (XID, THIS))
FOLLOW_ENTRIES = replaced(
    chains.FOLLOW_ENTRIES,
    (XID, THIS),
    (
        "AND s.number_of_shares = e.amount;",
        """AND s.number_of_shares = e.amount AND s.issuer_id = (
                    SELECT issuer_id FROM issuers_token WHERE id = e.token_id);""",
    ),
)

# An issuer that was deleted may be made again, but has no past.
FORMER_ISSUERS = "CREATE TABLE issuers_formerissuer (id uuid PRIMARY KEY)"
KEEP_ISSUER = trigger_function(
    "register_keep_issuer",
    "issuers_issuer",
    f"""
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM issuers_token WHERE issuer_id = OLD.id) THEN
            RAISE EXCEPTION 'Issuer % stays: tables of the past list its tokens.',
                OLD.slug {RESTRICTED};
        END IF;
        INSERT INTO issuers_formerissuer VALUES (OLD.id) ON CONFLICT DO NOTHING;
        RETURN OLD;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.id <> OLD.id THEN
            RAISE EXCEPTION 'Issuer % keeps its id: tables of the past have it.',
                OLD.slug {RESTRICTED};
        END IF;
        NEW.recorded_in := OLD.recorded_in;
    ELSE
        NEW.recorded_in := {THIS};
        IF EXISTS (SELECT FROM issuers_formerissuer WHERE id = NEW.id) THEN
            NEW.recorded_in := NULL;
        END IF;
    END IF;
    RETURN NEW;
    """,
)
KEEP_ISSUER_LISTED = """
CREATE TRIGGER register_keep_issuer_listed BEFORE DELETE ON issuers_issuer
    FOR EACH ROW EXECUTE FUNCTION register_keep_issuer();
"""

# To touch the head waits for its writers, and fails those whose snapshot is older.
KEEP_TOKEN = replaced(
    functions_of(chains.KEEP_TOKEN),
    (
        "    RETURN NEW;",
        f"""    IF NEW.authorized_units IS DISTINCT FROM OLD.authorized_units THEN
        UPDATE issuers_tokenledgerhead SET supply = supply WHERE token_id = OLD.id
            RETURNING supply INTO made;
        IF made > NEW.authorized_units THEN
            RAISE EXCEPTION 'Of token % there are % units: no fewer can be '
                'authorized.', OLD.symbol, made {RESTRICTED};
        END IF;
    END IF;
    RETURN NEW;""",
    ),
    ("BEGIN\n", "DECLARE\n    made numeric;\nBEGIN\n"),
)

# The lock keeps a profile where it is until its account is committed.
KEEP_ACCOUNT = trigger_function(
    "register_keep_account",
    "issuers_ledgeraccount",
    f"""
    PERFORM FROM accounts_userholder
        WHERE id = NEW.holder_id AND user_id = NEW.user_id FOR KEY SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Profile % is not that of user %.', NEW.holder_id, NEW.user_id
            {RESTRICTED};
    END IF;
    RETURN NEW;
    """,
) + """
DROP TRIGGER register_keep_account ON issuers_ledgeraccount;
DROP FUNCTION register_is_profile_of(uuid, uuid);
CREATE TRIGGER register_keep_account BEFORE INSERT ON issuers_ledgeraccount
    FOR EACH ROW WHEN (NEW.kind = 'HOLDER') EXECUTE FUNCTION register_keep_account();
"""
OLD_KEEP_ACCOUNT = (
    "DROP TRIGGER register_keep_account ON issuers_ledgeraccount;"
    + "CREATE OR REPLACE FUNCTION register_keep_account()"
    + chains.KEEP_ACCOUNTS.partition("FUNCTION register_keep_account()")[2]
)

# An older snapshot would not show the account.
ASKED_NOW = f"""
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'This is done in a transaction that is READ COMMITTED.'
            {RESTRICTED};
    END IF;
"""
KEEP_HOLDER = trigger_function(
    "register_keep_holder",
    "accounts_userholder",
    f"""
    {ASKED_NOW.strip()}
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE holder_id = OLD.id) THEN
        RAISE EXCEPTION 'Holder profile % has an account in the register and stays its '
            'user''s. Units that are another user''s are transferred to that user.',
            OLD.id {RESTRICTED};
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    """,
) + """
DROP TRIGGER register_keep_holder ON accounts_userholder;
CREATE TRIGGER register_keep_holder BEFORE UPDATE ON accounts_userholder
    FOR EACH ROW WHEN (NEW.user_id <> OLD.user_id OR NEW.id <> OLD.id)
    EXECUTE FUNCTION register_keep_holder();
CREATE TRIGGER register_keep_holder_listed BEFORE DELETE ON accounts_userholder
    FOR EACH ROW EXECUTE FUNCTION register_keep_holder();
"""
holders = import_module("issuers.migrations.0009_holder_guard")
OLD_KEEP_HOLDER = (
    "DROP TRIGGER register_keep_holder_listed ON accounts_userholder;"
    "DROP TRIGGER register_keep_holder ON accounts_userholder;"
    "DROP FUNCTION register_keep_holder();"
    + holders.KEEP_HOLDER
    + "ALTER FUNCTION register_keep_holder()"
    " SET search_path = pg_catalog, public, pg_temp;"
    "REVOKE ALL ON FUNCTION register_keep_holder() FROM PUBLIC"
)

KEEP_USER = trigger_function(
    "register_keep_user",
    "accounts_user",
    f"""
    {ASKED_NOW.strip()}
    IF EXISTS (SELECT FROM issuers_ledgeraccount WHERE user_id = OLD.id) THEN
        RAISE EXCEPTION 'User % has an account in the register, and stays.', OLD.id
            {RESTRICTED};
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
    """,
) + """
CREATE TRIGGER register_keep_user BEFORE UPDATE ON accounts_user
    FOR EACH ROW WHEN (NEW.id <> OLD.id) EXECUTE FUNCTION register_keep_user();
CREATE TRIGGER register_keep_user_listed BEFORE DELETE ON accounts_user
    FOR EACH ROW EXECUTE FUNCTION register_keep_user();
"""

# The changes of a line go with the line, and are not deleted for themselves.
KEEP_CHANGES = trigger_function(
    "register_keep_changes",
    "issuers_legacyshareholderchange",
    f"""
    IF EXISTS (
        SELECT FROM issuers_legacyshareholder WHERE id = OLD.shareholder_id) THEN
        RAISE EXCEPTION 'What changed of legacy shares % stays with them.',
            OLD.shareholder_id {RESTRICTED};
    END IF;
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER register_keep_changes
    AFTER DELETE ON issuers_legacyshareholderchange DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION register_keep_changes();
"""


class Migration(migrations.Migration):
    dependencies = [("issuers", "0012_ledger_chains")]

    operations = [
        migrations.RunSQL(THIS_TRANSACTION, drop("register_transaction(bigint)")),
        migrations.RunSQL(HOLD, chains.HOLD),
        migrations.RunSQL(TIME_TOKEN, chains.TIME_TOKEN),
        migrations.RunSQL(FOLLOW_PRICES, chains.FOLLOW_PRICES),
        migrations.RunSQL(FOLLOW_ENTRIES, chains.FOLLOW_ENTRIES),
        migrations.RunSQL(FORMER_ISSUERS, "DROP TABLE issuers_formerissuer"),
        migrations.RunSQL(
            KEEP_ISSUER + KEEP_ISSUER_LISTED,
            "DROP TRIGGER register_keep_issuer_listed ON issuers_issuer;"
            + functions_of(chains.KEEP_ISSUER),
        ),
        migrations.RunSQL(KEEP_TOKEN, functions_of(chains.KEEP_TOKEN)),
        migrations.RunSQL(KEEP_ACCOUNT, OLD_KEEP_ACCOUNT),
        migrations.RunSQL(KEEP_HOLDER, OLD_KEEP_HOLDER),
        migrations.RunSQL(
            KEEP_USER,
            drop(
                "register_keep_user()",
                triggers={
                    "register_keep_user": "accounts_user",
                    "register_keep_user_listed": "accounts_user",
                },
            ),
        ),
        migrations.RunSQL(
            KEEP_CHANGES,
            drop(
                "register_keep_changes()",
                triggers={"register_keep_changes": "issuers_legacyshareholderchange"},
            ),
        ),
    ]

"""Binds an API key's digest to its login, and moves it only with what opens it."""

from django.db import migrations, models

from partnerapi.core.guards import (
    SEARCH_PATH,
    closed_to_public,
    drop,
    function,
    history_of,
)

# The database holds the SHA-256 of an opening. Digests of the release before are their
# own openings.
MOVE = function(
    "accounts_move_keys(pepper bigint, keys uuid[], openings bytea[], digests bytea[])",
    "bigint",
    """
    PERFORM FROM accounts_pepper p WHERE p.id = pepper AND p.is_bound;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Keys move to a pepper of logins and secrets.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_apikey k SET secret_digest = m.digest, pepper_id = pepper
    FROM unnest(keys, openings, digests) AS m (id, opening, digest)
    WHERE k.id = m.id AND k.pepper_id IS DISTINCT FROM pepper
        AND octet_length(m.digest) = 32
        AND k.secret_digest = CASE WHEN EXISTS (
            SELECT FROM accounts_pepper p WHERE p.id = k.pepper_id AND p.is_bound)
            THEN sha256(m.opening) ELSE m.opening END;
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
    """,
    declare="moved bigint;",
)
# As the role that changes the row: only that function does so as the tables' owner.
KEEP = f"""
CREATE FUNCTION accounts_keep_secret() RETURNS trigger LANGUAGE plpgsql
{SEARCH_PATH} AS $$
BEGIN
    IF current_user <> (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
            WHERE c.oid = TG_RELID) THEN
        RAISE EXCEPTION 'Key % keeps its digest: accounts_move_keys gives it another '
            'for what opens the one that it has.', OLD.last_four
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
{closed_to_public("accounts_keep_secret()")}
CREATE TRIGGER accounts_keep_secret BEFORE UPDATE ON accounts_apikey
    FOR EACH ROW WHEN (NEW.secret_digest <> OLD.secret_digest
        OR NEW.pepper_id IS DISTINCT FROM OLD.pepper_id)
    EXECUTE FUNCTION accounts_keep_secret();
"""
HISTORY = """
CREATE OR REPLACE TRIGGER history_record
    AFTER INSERT OR UPDATE OF partner_id, scopes, expires_at, revoked_at{} OR DELETE
    ON accounts_apikey FOR EACH ROW
    EXECUTE FUNCTION history_record('last_used_at{}', 'secret_digest');
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0034_staff_changes")]

    operations = [
        migrations.AddField(
            model_name="pepper",
            name="is_bound",
            field=models.BooleanField(
                db_default=False, help_text='Used for digests of a login and a secret.'
            ),
        ),
        migrations.RunSQL(
            MOVE + KEEP,
            drop(
                "accounts_keep_secret()",
                "accounts_move_keys(bigint, uuid[], bytea[], bytea[])",
                triggers={"accounts_keep_secret": "accounts_apikey"},
            ),
        ),
        migrations.RunSQL(
            HISTORY.format(", secret_digest, pepper_id", ""),
            HISTORY.format("", " pepper_id"),
        ),
        history_of("accounts_pepper", secret="digest"),
    ]

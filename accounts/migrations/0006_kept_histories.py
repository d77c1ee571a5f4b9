import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import (
    closed_to_public,
    drop,
    function,
    harden,
    trigger_function,
)

# The name is replaced at the commit, under a lock that readers of tables share: so
# that no table was answered with the old name at an instant that has the new one.
KEEP_NAMES = trigger_function(
    "accounts_keep_names",
    "accounts_userholder",
    """
    PERFORM pg_advisory_xact_lock(hashtextextended('names of holders', 0));
    INSERT INTO accounts_userholdername (holder_id, name, replaced_at)
    SELECT OLD.id, OLD.name, greatest(clock_timestamp(), max(n.replaced_at))
    FROM accounts_userholdername n WHERE n.holder_id = OLD.id;
    RETURN NULL;
    """,
) + """
CREATE CONSTRAINT TRIGGER accounts_keep_names AFTER UPDATE OF name
    ON accounts_userholder DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.name <> OLD.name) EXECUTE FUNCTION accounts_keep_names();
"""

REFUSE_CHANGE = """
CREATE FUNCTION accounts_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What happened stays as it was written: % on % is refused.',
        TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_userholdername
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_accountstatuschange
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
CREATE TRIGGER staff_log_is_appended_to BEFORE UPDATE OR TRUNCATE ON django_admin_log
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
"""

# An account stands where its history says; nobody else moves it.
OPEN_ACCOUNT = trigger_function(
    "accounts_open_account",
    "accounts_account",
    """
    IF NEW.status <> 'PENDING' OR NEW.changes <> 0 OR NEW.status_reason IS NOT NULL THEN
        RAISE EXCEPTION 'An account begins as PENDING, and its history leads on.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
    """,
) + """
CREATE TRIGGER accounts_open_account BEFORE INSERT ON accounts_account
    FOR EACH ROW EXECUTE FUNCTION accounts_open_account();
"""

FOLLOW_HISTORY = trigger_function(
    "accounts_follow_history",
    "accounts_accountstatuschange",
    """
    PERFORM FROM accounts_account
        WHERE id IN (SELECT account_id FROM entered) ORDER BY id FOR UPDATE;
    SELECT format('account %s, change %s', account_id, number) INTO wrong
    FROM (
        SELECT e.account_id, e.number,
            e.number = a.changes + row_number() OVER by_number
            AND e.previous_status IS NOT DISTINCT FROM lag(e.status, 1,
                CASE WHEN a.changes > 0 THEN a.status END) OVER by_number
            AND e.created_at >= lag(e.created_at, 1, a.updated_at) OVER by_number
            AND e.created_at < clock_timestamp() + interval '1 minute' AS follows
        FROM entered e JOIN accounts_account a ON a.id = e.account_id
        WINDOW by_number AS (PARTITION BY e.account_id ORDER BY e.number)
    ) AS checked
    WHERE NOT follows ORDER BY number LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'An account''s next change must have the next number, begin '
            'where the account stands, and have a time that is not before the last '
            'one''s nor in the future: %.', wrong USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_account a
        SET status = l.status, status_reason = l.reason, changes = l.number,
            updated_at = l.created_at
        FROM (SELECT DISTINCT ON (account_id) * FROM entered
              ORDER BY account_id, number DESC) l
        WHERE a.id = l.account_id;
    RETURN NULL;
    """,
    declare="wrong text;",
) + """
CREATE TRIGGER accounts_follow_history AFTER INSERT ON accounts_accountstatuschange
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_follow_history();
"""

LOCK = function(
    "accounts_lock(account uuid)",
    "SETOF accounts_account",
    "RETURN QUERY SELECT * FROM accounts_account WHERE id = account FOR UPDATE;",
)

# It asks who is changing the row, and so must not run as the owner.
KEEP_SUPERUSERS = """
CREATE FUNCTION accounts_keep_superusers() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER')
    THEN
        RAISE EXCEPTION 'Only the owner of the tables makes superusers '
            '(createsuperuser).' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER accounts_make_superuser BEFORE INSERT ON accounts_user
    FOR EACH ROW WHEN (NEW.is_superuser)
    EXECUTE FUNCTION accounts_keep_superusers();
CREATE TRIGGER accounts_keep_superusers BEFORE UPDATE ON accounts_user
    FOR EACH ROW WHEN (NEW.is_superuser AND NOT OLD.is_superuser)
    EXECUTE FUNCTION accounts_keep_superusers();
""" + closed_to_public("accounts_keep_superusers()")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_holder_import")]

    operations = [
        migrations.CreateModel(
            name="UserHolderName",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=200)),
                (
                    "replaced_at",
                    models.DateTimeField(
                        help_text="From when on the holder had another name."
                    ),
                ),
                (
                    "holder",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="former_names",
                        to="accounts.userholder",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["holder", "replaced_at", "id"],
                        name="user_holder_name_at",
                    )
                ]
            },
        ),
        migrations.RunSQL(
            KEEP_NAMES,
            drop(
                "accounts_keep_names()",
                triggers={"accounts_keep_names": "accounts_userholder"},
            ),
        ),
        migrations.RunSQL(
            REFUSE_CHANGE,
            "DROP TRIGGER accounts_refuse_change ON accounts_userholdername;"
            "DROP TRIGGER accounts_refuse_change ON accounts_accountstatuschange;"
            "DROP TRIGGER staff_log_is_appended_to ON django_admin_log;"
            "DROP FUNCTION accounts_refuse_change()",
        ),
        migrations.RunSQL(
            OPEN_ACCOUNT,
            drop(
                "accounts_open_account()",
                triggers={"accounts_open_account": "accounts_account"},
            ),
        ),
        migrations.RunSQL(
            FOLLOW_HISTORY,
            drop(
                "accounts_follow_history()",
                triggers={"accounts_follow_history": "accounts_accountstatuschange"},
            ),
        ),
        migrations.RunSQL(LOCK, drop("accounts_lock(uuid)")),
        migrations.RunSQL(
            KEEP_SUPERUSERS,
            drop(
                "accounts_keep_superusers()",
                triggers={
                    "accounts_make_superuser": "accounts_user",
                    "accounts_keep_superusers": "accounts_user",
                },
            ),
        ),
        harden("staff_log_stays()", "accounts_refuse_change()"),
    ]

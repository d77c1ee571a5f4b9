"""Lets partners open accounts: what they say of clients, and what becomes of it.

A change of status locks its account so that rows that name it may still be written.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models.functions import Lower, Now

import accounts.people.models
from partnerapi.core.guards import drop, function, trigger_function

LOCK = "accounts_lock(account uuid)", "SETOF accounts_account"
LOCKED = "RETURN QUERY SELECT * FROM accounts_account WHERE id = account FOR {};"


def follow_history(strength: str) -> str:
    return trigger_function(
        "accounts_follow_history",
        "accounts_accountstatuschange",
        f"""
    PERFORM FROM accounts_account
        WHERE id IN (SELECT account_id FROM entered) ORDER BY id FOR {strength};
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
    )


def locks(strength: str) -> str:
    return function(*LOCK, LOCKED.format(strength)) + follow_history(strength)


# An applicant is of the account's partner and user, whatever is inserted.
DESCRIBE = trigger_function(
    "accounts_describe",
    "accounts_applicant",
    """
    SELECT partner_id, user_id INTO NEW.partner_id, NEW.user_id
        FROM accounts_account WHERE id = NEW.account_id AND status = 'PENDING';
    RETURN NEW;
    """,
)
# What makes the user known stays the partner's word until staff activate the account.
ACCEPT = trigger_function(
    "accounts_accept_applicant",
    "accounts_accountstatuschange",
    """
    UPDATE accounts_user u
        SET email = coalesce(u.email, p.email), lei = coalesce(u.lei, p.lei)
        FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE p.account_id = NEW.account_id AND a.user_id = p.user_id
            AND u.id = p.user_id;
    RETURN NULL;
    """,
)
JOIN = function(
    "accounts_join(account uuid, known uuid)",
    "void",
    """
    PERFORM FROM accounts_account WHERE id = account FOR NO KEY UPDATE;
    PERFORM FROM accounts_applicant p JOIN accounts_account a ON a.id = p.account_id
        WHERE a.id = account AND a.status = 'PENDING' AND a.user_id = p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Only an account that is PENDING, that its partner opened and '
            'that was not joined yet is joined to a user.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    PERFORM FROM accounts_applicant p JOIN accounts_user u
        ON (u.email = p.email OR u.lei = p.lei) AND u.type = (
            SELECT type FROM accounts_user WHERE id = p.user_id)
        WHERE p.account_id = account AND u.id = known AND u.id <> p.user_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'An account is joined to a user of the same type who has the '
            'email or the LEI that the partner told.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_account SET user_id = known WHERE id = account;
    """,
)
TRIGGERS = """
CREATE TRIGGER accounts_describe BEFORE INSERT ON accounts_applicant
    FOR EACH ROW EXECUTE FUNCTION accounts_describe();
CREATE TRIGGER accounts_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE
    ON accounts_applicant
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_change();
CREATE TRIGGER accounts_accept_applicant AFTER INSERT ON accounts_accountstatuschange
    FOR EACH ROW WHEN (NEW.previous_status = 'PENDING' AND NEW.status = 'ACTIVE')
    EXECUTE FUNCTION accounts_accept_applicant();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0021_partners_may_attest")]

    operations = [
        migrations.CreateModel(
            name="Applicant",
            fields=[
                (
                    "account",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="applicant",
                        serialize=False,
                        to="accounts.account",
                    ),
                ),
                ("reference", models.CharField(max_length=64)),
                ("email", models.EmailField(max_length=254)),
                (
                    "lei",
                    models.CharField(max_length=20, null=True, verbose_name="LEI"),
                ),
                ("created_at", models.DateTimeField(db_default=Now())),
                (
                    "partner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="accounts.partner",
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("partner", "reference"),
                        name="reference_is_unique_per_partner",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("reference__regex", "^[A-Za-z0-9._:-]{1,64}$")
                        ),
                        name="reference_is_short",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("email", Lower("email"))),
                        name="applicant_email_is_lower_case",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("lei__isnull", True),
                            accounts.people.models.LEIIsValid("lei"),
                            _connector="OR",
                        ),
                        name="applicant_lei_follows_iso_17442",
                    ),
                ]
            },
        ),
        migrations.RunSQL(DESCRIBE, drop("accounts_describe()")),
        migrations.RunSQL(ACCEPT, drop("accounts_accept_applicant()")),
        migrations.RunSQL(JOIN, drop("accounts_join(uuid, uuid)")),
        migrations.RunSQL(
            TRIGGERS,
            "DROP TRIGGER accounts_describe ON accounts_applicant;"
            "DROP TRIGGER accounts_refuse_change ON accounts_applicant;"
            "DROP TRIGGER accounts_accept_applicant ON accounts_accountstatuschange;",
        ),
        migrations.RunSQL(locks("NO KEY UPDATE"), locks("UPDATE")),
    ]

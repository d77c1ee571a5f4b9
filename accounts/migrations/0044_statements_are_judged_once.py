"""A bank statement is judged once, with every line that it gets."""

from django.db import migrations, models

from partnerapi.core.guards import rewritten

# SET CONSTRAINTS may judge a statement before it has its lines.
JUDGED = rewritten(
    "approvals_of_statement()",
    (
        """
    IF credited > 0 THEN
        used""",
        """
    IF EXISTS (SELECT FROM accounts_bankline l WHERE l.statement_id = NEW.id
            AND NOT EXISTS (SELECT FROM accounts_cashtransaction t
                WHERE t.reference = l.reference)) THEN
        RAISE EXCEPTION 'The lines of a bank statement are booked before it is judged.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    UPDATE accounts_bankstatement SET made_in = 0 WHERE id = NEW.id;
    IF credited > 0 THEN
        used""",
    ),
)
KEPT = ("id", "name", "digest", "closing_balance", "booked_balance", "booked_by",
    "booked_at")  # fmt: skip


def keep(columns: str) -> str:
    return f"""
CREATE OR REPLACE TRIGGER accounts_refuse_change BEFORE UPDATE{columns} OR DELETE OR TRUNCATE
    ON accounts_bankstatement FOR EACH STATEMENT
    EXECUTE FUNCTION accounts_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0043_people_are_users")]

    operations = [
        migrations.RunSQL(keep(f" OF {', '.join(KEPT)}"), keep("")),
        JUDGED,
        migrations.AlterField(
            model_name="bankstatement",
            name="made_in",
            field=models.BigIntegerField(
                editable=False,
                help_text='The transaction that books it and adds its lines; 0: booked.',
                null=True,
            ),
        ),
    ]

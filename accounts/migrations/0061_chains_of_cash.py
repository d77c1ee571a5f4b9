"""Columns of the chains of cash, which stay when the migration is taken back.

The sum of 64-bit digests is not written any more; its column stays for the release
before.
"""

from django.db import migrations, models

SUMMED = """
    UPDATE accounts_cashhead h SET fingerprint = (
        SELECT coalesce(sum(cash_digest(p.cash_account_id, p.number, t.id, t.kind,
            p.delta, p.balance_after, t.at, t.reference, t.reverses_id, t.assigns_id,
            t.withdrawal_id, t.actor, t.reason)), 0)
        FROM accounts_cashposting p
        JOIN accounts_cashtransaction t ON t.id = p.transaction_id
        WHERE p.cash_account_id = h.cash_account_id)
"""


def add(model: str, name: str, text: str, **options: object) -> migrations.SeparateDatabaseAndState:
    """Add a column unless it has stayed."""
    return migrations.SeparateDatabaseAndState(
        [
            migrations.RunSQL(
                f"ALTER TABLE accounts_{model} ADD COLUMN IF NOT EXISTS {name} bytea",
                migrations.RunSQL.noop,
            )
        ],
        [
            migrations.AddField(
                model,
                name,
                models.BinaryField(help_text=text, null=True, **options),
            )
        ],
    )


class Migration(migrations.Migration):
    # A table's lock is not held while the next one's is waited for.
    atomic = False

    dependencies = [("accounts", "0060_who_changes_accounts")]

    operations = [
        add("cashposting", "salt", "Null before there were chains.", max_length=16),
        add("cashposting", "private_digest", "SHA-256 of the salt and the private part of its line.", max_length=32),
        add("cashhead", "entry_digest", "Head of the SHA-256 chain of its postings; null until the migration has computed it.", max_length=32, default=bytes(32)),
        migrations.RunSQL(migrations.RunSQL.noop, SUMMED),
        migrations.AlterField("cashhead", "fingerprint", models.DecimalField(db_default=0, decimal_places=0, editable=False, help_text="Only the release before reads it; the next one drops it.", max_digits=40)),
    ]

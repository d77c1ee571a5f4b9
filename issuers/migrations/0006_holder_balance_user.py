from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

guards = import_module("issuers.migrations.0003_register_guards")

DROP_NOTE = "DROP FUNCTION register_note(uuid[], timestamptz);"

FILL = """
UPDATE issuers_holderbalance b SET user_id = a.user_id
FROM issuers_ledgeraccount a
WHERE a.id = b.account_id AND a.user_id IS NOT NULL
"""

OLD_FOLLOW_POSTINGS = guards.FOLLOW_POSTINGS.partition("CREATE TRIGGER")[0].replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)

KEEP_BALANCES = """
    INSERT INTO issuers_holderbalance
            (token_id, account_id, user_id, balance, last_seq)
        SELECT DISTINCT ON (e.token_id, e.account_id)
            e.token_id, e.account_id, a.user_id, e.balance_after, e.seq
        FROM entered e JOIN issuers_ledgeraccount a ON a.id = e.account_id
        ORDER BY e.token_id, e.account_id, e.seq DESC
        ON CONFLICT (token_id, account_id)
        DO UPDATE SET balance = excluded.balance, last_seq = excluded.last_seq;
    RETURN NULL;
END $$
"""
FOLLOW_POSTINGS = (
    OLD_FOLLOW_POSTINGS.partition("    INSERT INTO issuers_holderbalance")[0]
    + KEEP_BALANCES.lstrip("\n")
)

NOTE_LEDGERS = guards.NOTE_LEDGERS.replace(
    "noted_holders bigint, noted_price bigint)",
    "noted_holders bigint, noted_last_holders bigint, noted_price bigint)",
).replace(
    "coalesce(s.holders_after, 0), coalesce(p.price_cents, 0)",
    "coalesce(s.holders_after, 0), h.holder_count, coalesce(p.price_cents, 0)",
)


class Migration(migrations.Migration):
    dependencies = [("issuers", "0005_legacy_guards")]

    operations = [
        migrations.AddField(
            model_name="holderbalance",
            name="user",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(FOLLOW_POSTINGS, OLD_FOLLOW_POSTINGS),
        migrations.RunSQL(DROP_NOTE + NOTE_LEDGERS, DROP_NOTE + guards.NOTE_LEDGERS),
    ]

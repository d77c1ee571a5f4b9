"""What the market's guards left to its writer: who came last, and what was the last.

Of two orders that trade the one that came later pays, or is paid, the other's price. A
market that becomes CONTINUOUS refers to its last price, whatever is asked for. An
account leaves ACTIVE after its last trade.
"""

from importlib import import_module

from django.db import migrations

guards = import_module("marketdata.trading.migrations.0002_trading_guards")
stays = import_module("issuers.migrations.0013_identities_stay")

CHANGE_PHASE = stays.replaced(
    guards.CHANGE_PHASE,
    (
        "    changed_at := greatest(",
        f"""    refers_to := coalesce(
        (SELECT x.price FROM trading_execution x
         WHERE x.token_id = token AND NOT EXISTS (SELECT FROM trading_bust b
            WHERE b.token_id = x.token_id AND b.sequence = x.sequence)
         ORDER BY x.sequence DESC LIMIT 1),
        (SELECT nullif(h.price_cents, 0) FROM issuers_tokenledgerhead h
         WHERE h.token_id = token),
        market.reference_price);
    IF reference IS NOT NULL AND (wanted = 'CONTINUOUS' AND reference = refers_to)
        IS NOT TRUE THEN
        RAISE EXCEPTION 'A market refers to the price of its last trade that stands, '
            'else to the token''s, when it becomes CONTINUOUS, and to no other: %.',
            refers_to {guards.RESTRICTED};
    END IF;
    changed_at := greatest(""",
    ),
    (
        "coalesce(reference, reference_price)",
        "CASE wanted WHEN 'CONTINUOUS' THEN refers_to\n"
        "            ELSE reference_price END",
    ),
    ("    changed_at timestamptz;", "    changed_at timestamptz;\n    refers_to bigint;"),
)
EXECUTE_BEFORE = guards.EXECUTE.partition("\nCREATE TRIGGER")[0]
EXECUTE = stays.replaced(
    EXECUTE_BEFORE,
    (
        "            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END\n",
        """            WHEN 0 THEN s.limit_price WHEN 1 THEN b.limit_price END
        AND CASE x.aggressor WHEN 0 THEN b.priority > s.priority
            WHEN 1 THEN s.priority > b.priority END
""",
    ),
)
ACCOUNT_BEFORE = guards.ACCOUNT_AT_COMMIT.partition("\nCREATE CONSTRAINT")[0]
ACCOUNT = stays.replaced(
    ACCOUNT_BEFORE,
    (
        "    RETURN NULL;",
        f"""    IF NEW.previous_status = 'ACTIVE' AND EXISTS (
        SELECT FROM accounts_account a
        JOIN trading_fill f ON f.account_id = a.id AND f.at > NEW.created_at
        WHERE a.id = NEW.account_id AND a.changes = NEW.number) THEN
        RAISE EXCEPTION 'Account % has traded since: it leaves ACTIVE after its last '
            'trade.', NEW.account_id {guards.RESTRICTED};
    END IF;
    RETURN NULL;""",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("trading", "0005_busted_days")]

    operations = [
        migrations.RunSQL(CHANGE_PHASE, guards.CHANGE_PHASE),
        migrations.RunSQL(EXECUTE, EXECUTE_BEFORE),
        migrations.RunSQL(ACCOUNT, ACCOUNT_BEFORE),
    ]

"""Partners are told of their orders and executions, and of registers that trades move.

`trading_fill` shows each execution from both sides: a partner's own is one of them. A
side reads one table alone, so that PostgreSQL can merge both in the order of an index.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import drop, function, trigger_function

events = import_module("issuers.migrations.0016_events")
guards = import_module("issuers.migrations.0003_register_guards")

# The writer's last statement; the commit numbers what this writes down.
TELL_ORDERS = trigger_function(
    "trading_tell_orders",
    "trading_orderevent",
    f"""
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, partner_id, type,
        subject_id, issuer_id, token_id, account_id, order_id, order_event, price,
        quantity, remaining, trade, reason)
    SELECT {events.THIS}, row_number() OVER () = 1, 'PARTNER', o.partner_id, e.kind,
        md5(concat_ws(' ', e.token_id, e.number))::uuid, t.issuer_id, e.token_id,
        o.account_id, o.id, e.number, e.price, e.quantity, e.remaining, e.trade,
        CASE WHEN e.kind IN ('ORDER_CANCELLED', 'ORDER_EXPIRED') THEN e.reason END
    FROM entered e JOIN trading_order o ON o.id = e.order_id
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id, e.number;
    RETURN NULL;
    """,
    settings=guards.BY_INDEX,
) + """
CREATE TRIGGER trading_tell_orders AFTER INSERT ON trading_orderevent
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION trading_tell_orders();
"""
# One at a time; each token once, however many trades there were.
TELL_REGISTERS = function(
    "trading_tell_registers()",
    "bigint",
    f"""
    IF NOT pg_try_advisory_xact_lock(hashtextextended('registers that moved', 0)) THEN
        RETURN 0;
    END IF;
    WITH moved AS (
        INSERT INTO trading_registertold AS r (token_id, ledger_seq)
        SELECT m.token_id, h.last_seq FROM trading_market m
        JOIN issuers_tokenledgerhead h ON h.token_id = m.token_id
        LEFT JOIN trading_registertold told ON told.token_id = m.token_id
        WHERE EXISTS (SELECT FROM issuers_ledgertransaction l
            WHERE l.token_id = m.token_id AND l.kind = 'TRADE'
                AND l.seq > coalesce(told.ledger_seq, 0))
        ORDER BY m.token_id
        ON CONFLICT (token_id) DO UPDATE SET ledger_seq = excluded.ledger_seq
        RETURNING r.token_id, r.ledger_seq
    )
    INSERT INTO issuers_unnumberedevent (transaction, leads, audience, type,
        subject_id, issuer_id, token_id, ledger_sequence)
    SELECT {events.THIS}, row_number() OVER () = 1, 'GRANTED', 'REGISTER_CHANGED',
        m.token_id, t.issuer_id, m.token_id, m.ledger_seq
    FROM moved m JOIN issuers_token t ON t.id = m.token_id ORDER BY m.token_id;
    GET DIAGNOSTICS told_now = ROW_COUNT;
    RETURN told_now;
    """,
    declare="told_now bigint;",
    settings=guards.BY_INDEX,
)


def side(order: str, account: str, number: int) -> str:
    return f"""
    SELECT md5(concat_ws(' ', e.token_id, e.sequence, {number}))::uuid AS id,
        e.token_id, e.sequence, {number}::smallint AS side, e.{order} AS order_id,
        e.{account} AS account_id, e.price, e.quantity, e.price * e.quantity AS value,
        CASE WHEN e.aggressor IS NULL THEN 'AUCTION' WHEN e.aggressor = {number}
            THEN 'TAKER' ELSE 'MAKER' END AS liquidity,
        e.ledger_seq, e.at, (SELECT b.at FROM trading_bust b
            WHERE b.token_id = e.token_id AND b.sequence = e.sequence) AS busted_at
    FROM trading_execution e
    """


FILLS = f"""
CREATE VIEW trading_fill AS {side("buy_order_id", "buyer_account_id", 0)}
    UNION ALL {side("sell_order_id", "seller_account_id", 1)}
"""


class Migration(migrations.Migration):
    dependencies = [
        ("trading", "0002_trading_guards"),
        ("issuers", "0038_events_of_orders"),
    ]

    operations = [
        migrations.CreateModel(
            name="RegisterTold",
            fields=[
                (
                    "token",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="issuers.token",
                    ),
                ),
                ("ledger_seq", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Fill",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
            ],
            options={"managed": False, "db_table": "trading_fill"},
        ),
        migrations.RunSQL(FILLS, "DROP VIEW trading_fill"),
        migrations.RunSQL(
            TELL_ORDERS,
            drop(
                "trading_tell_orders()",
                triggers={"trading_tell_orders": "trading_orderevent"},
            ),
        ),
        migrations.RunSQL(TELL_REGISTERS, drop("trading_tell_registers()")),
    ]

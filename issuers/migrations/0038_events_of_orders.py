"""Events tell of orders what they were; trades do not tell of a register one by one."""

from importlib import import_module

from django.db import migrations, models

from partnerapi.core.guards import trigger_function

events = import_module("issuers.migrations.0016_events")
guards = import_module("issuers.migrations.0003_register_guards")
identities = import_module("issuers.migrations.0013_identities_stay")

ADDED = ("order_event", "price", "quantity", "remaining", "trade", "reason")
NUMBER_BEFORE = identities.functions_of(events.NUMBER)
NUMBER = identities.replaced(
    NUMBER_BEFORE,
    (
        "account_id, ledger_sequence)\n        SELECT gen_random_uuid()",
        f"account_id, ledger_sequence, {', '.join(ADDED)})\n"
        "        SELECT gen_random_uuid()",
    ),
    (
        "greatest(h.last_at, taken), u.subject_id",
        "greatest(h.last_at, taken), coalesce(u.order_id, u.subject_id)",
    ),
    (
        "u.account_id, u.ledger_sequence\n",
        "u.account_id, u.ledger_sequence, "
        f"{', '.join(f'u.{name}' for name in ADDED)}\n",
    ),
)


def register_changed(condition: str) -> str:
    return trigger_function(
        "events_register_changed",
        "issuers_ledgertransaction",
        f"""{events.TELL} 'GRANTED', NULL::uuid, 'REGISTER_CHANGED', e.token_id,
        t.issuer_id, e.token_id, NULL::uuid, e.seq
    FROM (SELECT token_id, max(seq) AS seq FROM entered{condition} GROUP BY token_id) e
    JOIN issuers_token t ON t.id = e.token_id ORDER BY e.token_id {events.ONCE}""",
        settings=guards.BY_INDEX,
    )


# Whoever trades would else wait for the heads of all partners who may see the register.
TOLD_OF_ALL = register_changed("")
TOLD_BUT_OF_TRADES = register_changed(" WHERE kind <> 'TRADE'")
TYPES = [
    ("ACCOUNT_STATUS_CHANGED", "Account status changed"),
    ("LEGACY_SHARES_DELIVERED", "Legacy shares delivered"),
    ("REGISTER_CHANGED", "Register changed"),
    ("TOKEN_PRICE_CHANGED", "Token price changed"),
    ("FINANCIAL_DATA_PUBLISHED", "Financial data published"),
    ("ARTICLE_PUBLISHED", "Article published"),
    ("GRANT_CHANGED", "Grant changed"),
    ("KEY_CHANGED", "Key changed"),
    ("ORDER_ACCEPTED", "Order accepted"),
    ("ORDER_AMENDED", "Order amended"),
    ("ORDER_TRADED", "Order traded"),
    ("ORDER_CANCELLED", "Order cancelled"),
    ("ORDER_EXPIRED", "Order expired"),
    ("TRADE_BUSTED", "Trade busted"),
    ("CASH_CHANGED", "Cash changed"),
    ("INVESTOR_CHANGED", "Investor changed"),
]


def told(model: str) -> list[migrations.AddField]:
    number = models.BigIntegerField(null=True)
    fields = {
        "order_event": models.BigIntegerField(
            null=True,
            help_text="Number of the event in the market's log of the token.",
        ),
        "price": models.BigIntegerField(null=True, help_text="Euro cents."),
        "quantity": number,
        "remaining": number,
        "trade": models.BigIntegerField(null=True, help_text="The tape's number."),
        "reason": models.CharField(max_length=20, null=True),
    }
    return [migrations.AddField(model, name, field) for name, field in fields.items()]


class Migration(migrations.Migration):
    dependencies = [("issuers", "0037_reserved_is_validated")]

    operations = [
        # First the table that writers lock first.
        *told("unnumberedevent"),
        migrations.AddField(
            "unnumberedevent", "order_id", models.UUIDField(null=True)
        ),
        *told("event"),
        migrations.AlterField(
            "unnumberedevent",
            "ledger_sequence",
            models.BigIntegerField(
                null=True,
                help_text="The last entry of the token's ledger in the commit.",
            ),
        ),
        migrations.AlterField(
            "event", "type", models.CharField(choices=TYPES, max_length=30)
        ),
        migrations.AlterField(
            "unnumberedevent", "type", models.CharField(choices=TYPES, max_length=30)
        ),
        migrations.RunSQL(NUMBER, NUMBER_BEFORE),
        migrations.RunSQL(TOLD_BUT_OF_TRADES, TOLD_OF_ALL),
    ]

"""Keeps how many legacy lines issuers have, and how many events partners."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

totals = import_module("accounts.migrations.0032_totals")
guards = import_module("issuers.migrations.0003_register_guards")

LEGACY = ("issuers_count_legacy", "issuers_legacyshareholder")
# By what a key without all scopes, or without a grant for every issuer, is not shown.
GROUPS = """partner_id, type,
        CASE WHEN type IN ('LEGACY_SHARES_DELIVERED', 'REGISTER_CHANGED')
            THEN issuer_id END AS issuer_id,
        CASE WHEN type = 'TOKEN_PRICE_CHANGED' THEN token_id END AS token_id"""
# A transaction that numbers events, or prunes them, holds the head of their partner.
EVENTS = trigger_function(
    "events_count",
    "issuers_event",
    f"""
    IF TG_OP = 'INSERT' THEN
        INSERT INTO issuers_eventcount AS c (partner_id, type, issuer_id, token_id,
            number)
        SELECT {GROUPS}, count(*) FROM changed GROUP BY 1, 2, 3, 4
        ON CONFLICT (partner_id, type, issuer_id, token_id)
        DO UPDATE SET number = c.number + excluded.number;
    ELSE
        UPDATE issuers_eventcount c SET number = c.number - g.number
        FROM (SELECT {GROUPS}, count(*) AS number FROM changed GROUP BY 1, 2, 3, 4) g
        WHERE (c.partner_id, c.type) = (g.partner_id, g.type)
            AND c.issuer_id IS NOT DISTINCT FROM g.issuer_id
            AND c.token_id IS NOT DISTINCT FROM g.token_id;
    END IF;
    RETURN NULL;
    """,
    settings=guards.BY_INDEX,
) + """
CREATE TRIGGER events_count AFTER INSERT ON issuers_event
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION events_count();
CREATE TRIGGER events_count_less AFTER DELETE ON issuers_event
    REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION events_count();
ALTER TABLE issuers_event ENABLE ALWAYS TRIGGER events_count;
ALTER TABLE issuers_event ENABLE ALWAYS TRIGGER events_count_less;
"""
TYPES = import_module("issuers.migrations.0038_events_of_orders").TYPES


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0047_judged_for_good"),
        ("accounts", "0033_counted_accounts"),
    ]

    operations = [
        migrations.CreateModel(
            name="EventCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("type", models.CharField(choices=TYPES, max_length=30)),
                ("issuer_id", models.UUIDField(null=True)),
                ("token_id", models.UUIDField(null=True)),
                ("number", models.BigIntegerField()),
                (
                    "partner",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="accounts.partner",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("partner", "type", "issuer_id", "token_id"),
                        name="events_are_counted_once",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(number__gte=0),
                        name="event_count_is_not_negative",
                    ),
                ],
            },
        ),
        migrations.RunSQL(
            EVENTS,
            drop(
                "events_count()",
                triggers={
                    "events_count": "issuers_event",
                    "events_count_less": "issuers_event",
                },
            ),
        ),
        migrations.RunSQL(
            totals.counts(
                *LEGACY, {"legacyShareholders": "issuer_id"}, moved="issuer_id"
            ),
            totals.uncounted(*LEGACY, moved=True),
        ),
    ]

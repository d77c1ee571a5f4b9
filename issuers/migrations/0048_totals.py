"""Keeps how many legacy lines issuers have, and how many events partners."""

import django.db.models.deletion
from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

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
    settings="SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off",
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
LEGACY = """
CREATE OR REPLACE FUNCTION issuers_count_legacy() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp  AS $$
BEGIN
    IF TG_RELID <> 'issuers_legacyshareholder'::regclass THEN
        RAISE EXCEPTION 'issuers_count_legacy guards issuers_legacyshareholder, and no other table.'
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF TG_OP = 'UPDATE' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', OLD.issuer_id, -1 UNION ALL SELECT 'legacyShareholders', NEW.issuer_id, 1) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSIF TG_OP = 'INSERT' THEN
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    ELSE
    INSERT INTO accounts_totalchange AS c (transaction, list, key, change)
    SELECT pg_current_xact_id()::text::bigint, x.list, x.key, x.change
    FROM (SELECT 'legacyShareholders', issuer_id, -count(*) FROM changed GROUP BY issuer_id) AS x (list, key, change) ORDER BY 2, 3
    ON CONFLICT (transaction, list, key) DO UPDATE
        SET change = c.change + excluded.change;
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION issuers_count_legacy() FROM PUBLIC;

CREATE TRIGGER issuers_count_legacy AFTER INSERT ON issuers_legacyshareholder REFERENCING NEW TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION issuers_count_legacy();
ALTER TABLE issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy;
CREATE TRIGGER issuers_count_legacy_less AFTER DELETE ON issuers_legacyshareholder REFERENCING OLD TABLE AS changed FOR EACH STATEMENT
    EXECUTE FUNCTION issuers_count_legacy();
ALTER TABLE issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy_less;
CREATE TRIGGER issuers_count_legacy_moved AFTER UPDATE OF issuer_id ON issuers_legacyshareholder FOR EACH ROW WHEN (OLD.issuer_id <> NEW.issuer_id)
    EXECUTE FUNCTION issuers_count_legacy();
ALTER TABLE issuers_legacyshareholder ENABLE ALWAYS TRIGGER issuers_count_legacy_moved;
"""
TYPES = [
    ('ACCOUNT_STATUS_CHANGED', 'Account status changed'),
    ('LEGACY_SHARES_DELIVERED', 'Legacy shares delivered'),
    ('REGISTER_CHANGED', 'Register changed'),
    ('TOKEN_PRICE_CHANGED', 'Token price changed'),
    ('FINANCIAL_DATA_PUBLISHED', 'Financial data published'),
    ('ARTICLE_PUBLISHED', 'Article published'),
    ('GRANT_CHANGED', 'Grant changed'),
    ('KEY_CHANGED', 'Key changed'),
    ('ORDER_ACCEPTED', 'Order accepted'),
    ('ORDER_AMENDED', 'Order amended'),
    ('ORDER_TRADED', 'Order traded'),
    ('ORDER_CANCELLED', 'Order cancelled'),
    ('ORDER_EXPIRED', 'Order expired'),
    ('TRADE_BUSTED', 'Trade busted'),
    ('CASH_CHANGED', 'Cash changed'),
    ('INVESTOR_CHANGED', 'Investor changed'),
]


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
            LEGACY,
            drop(
                "issuers_count_legacy()",
                triggers={
                    "issuers_count_legacy": "issuers_legacyshareholder",
                    "issuers_count_legacy_less": "issuers_legacyshareholder",
                    "issuers_count_legacy_moved": "issuers_legacyshareholder",
                },
            ),
        ),
    ]

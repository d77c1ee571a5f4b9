"""Keeps from which entry to which each user has had units of a token.

The periods of entries from before come with 0029_holding_periods_of_before.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

CLASS = "floor(%(to_a_doubling)s * ln(%(expressions)s::float8) / ln(2::float8))::int2"

# Where balances begin or cease to be above nothing, each with the next such entry.
CHANGES = """
    SELECT p.token_id, a.user_id, p.seq, p.balance_after > 0 AS holds,
        lag(p.seq) OVER changes AS before, lead(p.seq) OVER changes AS next
    FROM {postings} p JOIN issuers_ledgeraccount a ON a.id = p.account_id
    WHERE a.user_id IS NOT NULL AND (p.balance_after > 0) <> (p.balance_after > p.delta)
    WINDOW changes AS (PARTITION BY p.token_id, p.account_id ORDER BY p.seq)
"""
FOLLOW = trigger_function(
    "register_follow_holdings",
    "issuers_ledgerposting",
    f"""
    WITH changed AS ({CHANGES.format(postings="entered")}), ended AS (
        UPDATE issuers_holdingperiod h SET until = c.seq
        FROM changed c
        WHERE NOT c.holds AND c.before IS NULL AND h.token_id = c.token_id
            AND h.user_id = c.user_id AND h.until IS NULL
    )
    INSERT INTO issuers_holdingperiod (token_id, user_id, since, until)
        SELECT token_id, user_id, seq, next FROM changed WHERE holds;
    RETURN NULL;
    """,
    settings="SET enable_seqscan = off",
) + """
CREATE TRIGGER register_follow_holdings AFTER INSERT ON issuers_ledgerposting
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION register_follow_holdings();
"""

# Who writes an entry asks for one ledger or a few: a plan for each array of them would
# take longer than the writing.
PLANNED_ONCE = "ALTER FUNCTION register_hold(uuid[]) {} plan_cache_mode"


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("issuers", "0017_updated_at"),
    ]

    operations = [
        migrations.CreateModel(
            name="HoldingPeriod",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "token_id",
                        "user_id",
                        "since",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "token",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="issuers.token",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "since",
                    models.BigIntegerField(
                        help_text="The entry that gave the first unit."
                    ),
                ),
                (
                    "until",
                    models.BigIntegerField(
                        null=True, help_text="The entry that took the last unit."
                    ),
                ),
                (
                    "since_class",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.F("since"), template=CLASS, to_a_doubling=8
                        ),
                        output_field=models.SmallIntegerField(),
                    ),
                ),
                (
                    "until_class",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Func(
                            models.F("until"),
                            template=f"coalesce({CLASS}, 32767)",
                            to_a_doubling=32,
                        ),
                        output_field=models.SmallIntegerField(),
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            "holdingperiod",
            models.CheckConstraint(
                condition=models.Q(until__isnull=True)
                | models.Q(until__gt=models.F("since")),
                name="holding_ends_after_it_begins",
            ),
        ),
        migrations.AddConstraint(
            "holdingperiod",
            models.UniqueConstraint(
                fields=["token", "user"],
                condition=models.Q(until__isnull=True),
                include=["since"],
                name="holding_now",
            ),
        ),
        migrations.AddIndex(
            "holdingperiod",
            models.Index(
                fields=["token", "since_class", "until_class", "user"],
                include=["since", "until"],
                name="holding_then",
            ),
        ),
        migrations.RunSQL(
            FOLLOW,
            drop(
                "register_follow_holdings()",
                triggers={"register_follow_holdings": "issuers_ledgerposting"},
            ),
        ),
        migrations.RunSQL(
            PLANNED_ONCE.format("SET") + " = force_generic_plan",
            PLANNED_ONCE.format("RESET"),
        ),
    ]

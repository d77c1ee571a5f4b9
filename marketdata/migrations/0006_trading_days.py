"""The figures of trading days, kept by a trigger on the trades.

Those of trades from before come with 0011_days_of_the_tape.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from partnerapi.core.guards import drop, trigger_function

# The zone of an installation: it stays when the setting changes, as its days do.
TIME_ZONE = """
    CREATE FUNCTION market_time_zone() RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT '{zone}' $$
"""
FIGURES = """
    INSERT INTO marketdata_tradingday AS kept
        (token_id, day, open_cents, high_cents, low_cents, close_cents,
         volume, value_cents, trades, first_trade, last_trade)
    SELECT token_id, day, (array_agg(price_cents ORDER BY sequence))[1],
        max(price_cents), min(price_cents),
        (array_agg(price_cents ORDER BY sequence DESC))[1],
        sum(quantity), sum(price_cents::numeric * quantity), count(*),
        min(sequence), max(sequence)
    FROM (
        SELECT t.*, (t.at AT TIME ZONE market_time_zone())::date AS day
        FROM {trades} t
    ) t
    GROUP BY token_id, day
    ORDER BY token_id, day
"""
# Trades of a token are inserted by their numbers, one statement after the other.
FOLLOW_DAYS = (
    trigger_function(
        "marketdata_follow_days",
        "marketdata_trade",
        f"""
    {FIGURES.format(trades="entered")}
    ON CONFLICT (token_id, day) DO UPDATE SET
        high_cents = greatest(kept.high_cents, excluded.high_cents),
        low_cents = least(kept.low_cents, excluded.low_cents),
        close_cents = excluded.close_cents,
        volume = kept.volume + excluded.volume,
        value_cents = kept.value_cents + excluded.value_cents,
        trades = kept.trades + excluded.trades,
        last_trade = excluded.last_trade;
    RETURN NULL;
    """,
    )
    + """
CREATE TRIGGER marketdata_follow_days AFTER INSERT ON marketdata_trade
    REFERENCING NEW TABLE AS entered
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_follow_days();
CREATE TRIGGER marketdata_refuse_change BEFORE DELETE OR TRUNCATE
    ON marketdata_tradingday
    FOR EACH STATEMENT EXECUTE FUNCTION marketdata_refuse_change();
"""
)


def keep_time_zone(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(TIME_ZONE.format(zone=settings.MARKET_TIME_ZONE))


def drop_time_zone(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION market_time_zone()")


class Migration(migrations.Migration):
    dependencies = [
        ("issuers", "0020_tables_without_locks"),
        ("marketdata", "0005_books_are_the_owners"),
    ]

    operations = [
        migrations.CreateModel(
            name="TradingDay",
            fields=[
                ("pk", models.CompositePrimaryKey("token_id", "first_trade", blank=True, editable=False, primary_key=True, serialize=False)),
                ("day", models.DateField()),
                ("open_cents", models.BigIntegerField(help_text="Price of the first trade.")),
                ("high_cents", models.BigIntegerField()),
                ("low_cents", models.BigIntegerField()),
                ("close_cents", models.BigIntegerField(help_text="Price of the last trade.")),
                ("volume", models.DecimalField(decimal_places=0, help_text="Units that changed hands.", max_digits=30)),
                ("value_cents", models.DecimalField(decimal_places=0, help_text="Sum of price times units.", max_digits=50)),
                ("trades", models.BigIntegerField()),
                ("first_trade", models.BigIntegerField(help_text="Number of the first trade.")),
                ("last_trade", models.BigIntegerField(help_text="Number of the last trade.")),
                ("token", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="trading_days", to="issuers.token")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("token", "day"), name="trading_day_is_kept_once")],
            },
        ),
        migrations.RunPython(keep_time_zone, drop_time_zone),
        migrations.RunSQL(
            FOLLOW_DAYS,
            drop(
                "marketdata_follow_days()",
                triggers={
                    "marketdata_follow_days": "marketdata_trade",
                },
            ),
        ),
    ]  # fmt: skip

"""The figures of a trading day are those of its trades that were not busted."""

from importlib import import_module

from django.db import migrations

from partnerapi.core.guards import drop, trigger_function

days = import_module("marketdata.migrations.0006_trading_days")
trading = import_module("marketdata.trading.migrations.0002_trading_guards")

# A day whose trades were all busted keeps its prices; the next trade makes them anew.
FOLLOW_DAYS_BEFORE = days.FOLLOW_DAYS.partition("CREATE TRIGGER")[0]
FOLLOW_DAYS = trigger_function(
    "marketdata_follow_days",
    "marketdata_trade",
    f"""
    {days.FIGURES.format(trades="entered")}
    ON CONFLICT (token_id, day) DO UPDATE SET
        open_cents = CASE kept.trades WHEN 0 THEN excluded.open_cents
            ELSE kept.open_cents END,
        high_cents = CASE kept.trades WHEN 0 THEN excluded.high_cents
            ELSE greatest(kept.high_cents, excluded.high_cents) END,
        low_cents = CASE kept.trades WHEN 0 THEN excluded.low_cents
            ELSE least(kept.low_cents, excluded.low_cents) END,
        close_cents = excluded.close_cents,
        volume = kept.volume + excluded.volume,
        value_cents = kept.value_cents + excluded.value_cents,
        trades = kept.trades + excluded.trades,
        last_trade = excluded.last_trade;
    RETURN NULL;
    """,
)
COUNT_ANEW = trigger_function(
    "trading_count_day_anew",
    "trading_bust",
    """
    UPDATE marketdata_tradingday d
    SET open_cents = coalesce(f.opening, d.open_cents),
        high_cents = coalesce(f.high, d.high_cents),
        low_cents = coalesce(f.low, d.low_cents),
        close_cents = coalesce(f.closing, d.close_cents),
        volume = f.volume, value_cents = f.value, trades = f.trades
    FROM marketdata_tradingday o
    CROSS JOIN LATERAL (
        SELECT (array_agg(t.price_cents ORDER BY t.sequence))[1] AS opening,
            max(t.price_cents) AS high, min(t.price_cents) AS low,
            (array_agg(t.price_cents ORDER BY t.sequence DESC))[1] AS closing,
            coalesce(sum(t.quantity), 0) AS volume,
            coalesce(sum(t.price_cents::numeric * t.quantity), 0) AS value,
            count(*) AS trades
        FROM marketdata_trade t
        WHERE t.token_id = o.token_id
            AND t.sequence BETWEEN o.first_trade AND o.last_trade
            AND NOT EXISTS (SELECT FROM trading_bust b
                WHERE b.token_id = t.token_id AND b.sequence = t.sequence)
    ) f
    WHERE o.token_id = NEW.token_id
        AND NEW.sequence BETWEEN o.first_trade AND o.last_trade
        AND d.token_id = o.token_id AND d.first_trade = o.first_trade;
    RETURN NULL;
    """,
    settings=trading.BY_INDEX,
) + """
CREATE TRIGGER trading_count_day_anew AFTER INSERT ON trading_bust
    FOR EACH ROW EXECUTE FUNCTION trading_count_day_anew();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("marketdata", "0013_own_books"),
        ("trading", "0004_look_ups"),
    ]

    operations = [
        migrations.RunSQL(FOLLOW_DAYS, FOLLOW_DAYS_BEFORE),
        migrations.RunSQL(
            COUNT_ANEW,
            drop(
                "trading_count_day_anew()",
                triggers={"trading_count_day_anew": "trading_bust"},
            ),
        ),
    ]

"""A token's trading day: the totals of its trades from midnight to midnight.

The day is the calendar day in MARKET_TIME_ZONE. The database stores each day's figures
(`marketdata_tradingday`). A feed updates those of the last day, trade by trade.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, time
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from partnerapi.core.database import fetch


class DayFigures(NamedTuple):
    """One token's day: prices in euro cents, `volume` in units, `value` in cents.

    `close` is the price of the last trade so far, `at` its time. Busted trades are not
    counted. A day with only busted trades keeps its prices. `through` is the number of
    the last trade, busted or not.
    """

    day: date
    open: int
    high: int
    low: int
    close: int
    volume: int
    value: int
    trades: int
    at: datetime
    through: int

    @property
    def vwap(self) -> int:
        """Value divided by volume, cents, rounded half up."""
        return vwap(self.value, self.volume)

    def followed_by(
        self, number: int, price: int, quantity: int, at: datetime
    ) -> "DayFigures":
        """The figures after one more trade. It may be the first of a later day."""
        day = day_of(at)
        if day > self.day or not self.trades:
            return first_trade(day, number, price, quantity, at)
        return DayFigures(
            self.day,
            self.open,
            max(self.high, price),
            min(self.low, price),
            price,
            self.volume + quantity,
            self.value + price * quantity,
            self.trades + 1,
            at,
            number,
        )


def vwap(value: int, volume: int) -> int:
    """The volume-weighted average price, cents, rounded half up; 0 without a volume."""
    if not volume:
        return 0
    return (2 * value + volume) // (2 * volume)


def first_trade(
    day: date, number: int, price: int, quantity: int, at: datetime
) -> DayFigures:
    value = price * quantity
    return DayFigures(day, price, price, price, price, quantity, value, 1, at, number)


def day_of(at: datetime) -> date:
    """The trading day of an instant."""
    return at.astimezone(zone(settings.MARKET_TIME_ZONE)).date()


def midnight(day: date) -> datetime:
    """The instant at which a trading day begins, in UTC."""
    begins = datetime.combine(day, time(), zone(settings.MARKET_TIME_ZONE))
    return begins.astimezone(UTC)


@lru_cache
def zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def read_last_days(
    token_ids: Collection[UUID], days: int
) -> dict[UUID, list[DayFigures]]:
    """The last days on which these tokens were traded, the latest first.

    One statement. It reads no other day.
    """
    found: dict[UUID, list[DayFigures]] = {}
    for token_id, *figures in fetch(LAST_DAYS, [list(token_ids), days], tuple):
        row = DayFigures._make(figures)
        row = row._replace(volume=int(row.volume), value=int(row.value))
        found.setdefault(token_id, []).append(row)
    return found


def compare_days(token_id: UUID) -> list[tuple[date, bool]]:
    """Whether each day's stored figures equal those of its trades.

    Reads all trades of the token.
    """
    return fetch(COMPARED_DAYS, {"token": token_id}, tuple)


COMPARED_DAYS = """
    WITH traded AS (
        SELECT t.day, opening.price_cents AS open_cents, t.high_cents, t.low_cents,
            closing.price_cents AS close_cents, t.volume, t.value_cents, t.trades,
            t.first_trade, t.last_trade
        FROM (
            SELECT (t.at AT TIME ZONE market_time_zone())::date AS day,
                max(t.price_cents) FILTER (WHERE stands) AS high_cents,
                min(t.price_cents) FILTER (WHERE stands) AS low_cents,
                coalesce(sum(t.quantity) FILTER (WHERE stands), 0) AS volume,
                coalesce(sum(t.price_cents::numeric * t.quantity)
                    FILTER (WHERE stands), 0) AS value_cents,
                count(*) FILTER (WHERE stands) AS trades,
                min(t.sequence) FILTER (WHERE stands) AS opening,
                max(t.sequence) FILTER (WHERE stands) AS closing,
                min(t.sequence) AS first_trade, max(t.sequence) AS last_trade
            FROM marketdata_trade t
            LEFT JOIN trading_bust b
                ON b.token_id = t.token_id AND b.sequence = t.sequence
            CROSS JOIN LATERAL (SELECT b.sequence IS NULL AS stands) s
            WHERE t.token_id = %(token)s GROUP BY 1
        ) t
        LEFT JOIN marketdata_trade opening ON opening.token_id = %(token)s
            AND opening.sequence = t.opening
        LEFT JOIN marketdata_trade closing ON closing.token_id = %(token)s
            AND closing.sequence = t.closing
    ), kept AS (
        SELECT day, open_cents, high_cents, low_cents, close_cents, volume,
            value_cents, trades, first_trade, last_trade
        FROM marketdata_tradingday WHERE token_id = %(token)s
    )
    SELECT coalesce(traded.day, kept.day),
        ROW(traded.day, coalesce(traded.open_cents, kept.open_cents),
            coalesce(traded.high_cents, kept.high_cents),
            coalesce(traded.low_cents, kept.low_cents),
            coalesce(traded.close_cents, kept.close_cents), traded.volume,
            traded.value_cents, traded.trades, traded.first_trade, traded.last_trade)
        IS NOT DISTINCT FROM ROW(kept.*)
    FROM traded FULL JOIN kept ON kept.day = traded.day
    ORDER BY 1
"""
LAST_DAYS = """
    SELECT d.token_id, d.day, d.open_cents, d.high_cents, d.low_cents, d.close_cents,
        d.volume, d.value_cents, d.trades, t.at, d.last_trade
    FROM unnest(%s::uuid[]) AS w (token_id)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_tradingday d WHERE d.token_id = w.token_id
        ORDER BY d.first_trade DESC LIMIT %s
    ) d
    JOIN marketdata_trade t ON t.token_id = d.token_id AND t.sequence = d.last_trade
    ORDER BY d.token_id, d.first_trade DESC
"""

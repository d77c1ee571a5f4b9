"""A token's trading day: what its trades from midnight to midnight add up to.

The day is the calendar day in MARKET_TIME_ZONE. The database keeps each day's figures
(`marketdata_tradingday`); a feed carries those of the last one on, trade by trade.
"""

from collections.abc import Collection
from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings

from partnerapi.core.database import fetch


class DayFigures(NamedTuple):
    """Of one token and day; prices in euro cents, `volume` in units, `value` in cents.

    `close` is the price of the last trade so far, `at` its time.
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

    @property
    def vwap(self) -> int:
        """Value by volume, cents, rounded half up."""
        return vwap(self.value, self.volume)

    def followed_by(self, price: int, quantity: int, at: datetime) -> "DayFigures":
        """The figures after one more trade, which may be the first of a later day."""
        day = day_of(at)
        if day > self.day:
            return first_trade(day, price, quantity, at)
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
        )


def vwap(value: int, volume: int) -> int:
    """The volume-weighted average price, cents, rounded half up."""
    return (2 * value + volume) // (2 * volume)


def first_trade(day: date, price: int, quantity: int, at: datetime) -> DayFigures:
    value = price * quantity
    return DayFigures(day, price, price, price, price, quantity, value, 1, at)


def day_of(at: datetime) -> date:
    """The trading day of an instant."""
    return at.astimezone(zone(settings.MARKET_TIME_ZONE)).date()


@lru_cache
def zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def read_last_days(
    token_ids: Collection[UUID], days: int
) -> dict[UUID, list[DayFigures]]:
    """The last days of tokens on which they were traded, the latest first.

    One statement, which reads no other day.
    """
    found: dict[UUID, list[DayFigures]] = {}
    for token_id, *figures in fetch(LAST_DAYS, [list(token_ids), days], tuple):
        row = DayFigures._make(figures)
        row = row._replace(volume=int(row.volume), value=int(row.value))
        found.setdefault(token_id, []).append(row)
    return found


LAST_DAYS = """
    SELECT d.token_id, d.day, d.open_cents, d.high_cents, d.low_cents, d.close_cents,
        d.volume, d.value_cents, d.trades, t.at
    FROM unnest(%s::uuid[]) AS w (token_id)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_tradingday d WHERE d.token_id = w.token_id
        ORDER BY d.first_trade DESC LIMIT %s
    ) d
    JOIN marketdata_trade t ON t.token_id = d.token_id AND t.sequence = d.last_trade
    ORDER BY d.token_id, d.first_trade DESC
"""

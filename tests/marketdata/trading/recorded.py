"""A day's records of a market, and its books rebuilt from them alone.

    python -m tests.marketdata.trading.recorded --orders 100000

Clients of one market place, amend and cancel orders before the day begins and on it.
Up to a thousand books of the day are rebuilt from the lines of the export and compared
with the log of the book. The day is exported again after more orders, and the bytes are
compared. It ends with exit code 1 where one differs.
"""

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any

from tests.installation import throw_away_installation

INSTANTS = 1_000
Levels = dict[tuple[int, int], int]
"""Units by side and price."""


def instants(lines: list[bytes], number: int) -> list[datetime]:
    """Just before so many transactions of the day, when those before have ended.

    A transaction's changes of the book have the time when they were written, a little
    after that by which its orders were judged.
    """
    *found, _ = map(json.loads, lines)
    times = sorted({time_of(each) for each in found if each["record"] == "EVENT"})
    step = max(len(times) // number, 1)
    return [time - timedelta(microseconds=1) for time in times[::step]]


def rebuilt(lines: list[bytes], token: str, at: list[datetime]) -> Iterator[Levels]:
    """The book at rising instants, from nothing but the lines."""
    *found, _ = map(json.loads, lines)
    orders = {each["id"]: each for each in found if each["record"] == "ORDER"}
    resting = {
        order: (each["side"], each["limit_price"], each["remaining"])
        for order, each in orders.items()
        if each["token_id"] == token and each["remaining"]
    }
    events = [
        each
        for each in found
        if each["record"] == "EVENT" and each["token_id"] == token
    ]
    place = 0
    for instant in at:
        while place < len(events) and time_of(events[place]) <= instant:
            follow(resting, orders, events[place])
            place += 1
        levels: Counter[tuple[int, int]] = Counter()
        for side, price, units in resting.values():
            levels[side, price] += units
        yield dict(levels)


def follow(
    resting: dict[str, tuple[int, int, int]],
    orders: dict[str, Any],
    event: dict[str, Any],
) -> None:
    order, kind = event["order_id"], event["kind"]
    if kind in ("ORDER_ACCEPTED", "ORDER_AMENDED"):
        side = orders[order]["side"]
        resting[order] = (side, event["price"], event["remaining"])
    elif kind == "ORDER_TRADED":
        side, price, _ = resting.pop(order)
        if event["remaining"]:
            resting[order] = (side, price, event["remaining"])
    elif kind in ("ORDER_CANCELLED", "ORDER_EXPIRED"):
        resting.pop(order)


def time_of(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["at"])


def logged(token: Any, at: list[datetime]) -> Iterator[Levels]:
    """The book at rising instants, by its own log of changes."""
    from marketdata.models import BookChange

    changes = BookChange.objects.filter(token=token).order_by("sequence")
    rows = list(changes.values_list("side", "price_cents", "quantity", "at"))
    levels: Levels = {}
    place = 0
    for instant in at:
        while place < len(rows) and rows[place][3] <= instant:
            side, price, units, _ = rows[place]
            levels[side, price] = units
            place += 1
        yield {level: units for level, units in levels.items() if units}


def compared(
    orders: int, dice: random.Random, number: int
) -> tuple[int, int, int, bool]:
    """Lines, books compared, books that differ, whether a second export is the same."""
    from django.utils import timezone

    from marketdata.trading.records import records
    from tests.marketdata.trading.replayed import market_of_clients, trade

    token, clients = market_of_clients()
    trade(token, clients, orders // 5, dice)
    begins = timezone.now()
    trade(token, clients, orders, dice)
    ends = timezone.now()
    lines = list(records(begins, ends))
    at = instants(lines, number)
    both = zip(rebuilt(lines, str(token.pk), at), logged(token, at), strict=True)
    differ = sum(mine != theirs for mine, theirs in both)
    trade(token, clients, orders // 5, dice)
    # The last line says whether the day was over, which it is by now.
    is_same = list(records(begins, ends))[:-1] == lines[:-1]
    return len(lines), len(at), differ, is_same


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.trading.recorded",
        description="Rebuild the books of a day from its records alone.",
    )
    parser.add_argument("--orders", type=int, default=100_000, help="of the day")
    options = parser.parse_args()
    with throw_away_installation():
        began = perf_counter()
        lines, books, differ, is_same = compared(
            options.orders, random.Random(), INSTANTS
        )
        sys.stdout.write(
            f"{options.orders:,} orders, {lines:,} lines in "
            f"{perf_counter() - began:,.0f} s; {differ} of {books:,} books differ; "
            f"the second export is {'the same' if is_same else 'another'}\n"
        )
    return int(differ > 0 or not is_same)


if __name__ == "__main__":
    sys.exit(main())

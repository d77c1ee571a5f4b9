"""How many changes a second an order book takes, beside a dictionary and a plain book.

python -m tests.benchmarks.order_books
"""

import argparse
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console
from rich.table import Table

from marketdata.books.orderbook import ASK, BID, OrderBook
from tests.benchmarks.yardstick import Pace, yardstick

Message = Sequence[tuple[int, int, int]]

BEST_BID = 10_000
SMALLEST_RATE = 500_000
MOST_ASSIGNMENTS = 18
"""What the smallest rate is in changes that are assigned alone, on any machine."""


class SortedWhenLookedAt:
    """The plain way: a dictionary a side, sorted to see whether the book is crossed."""

    def __init__(self, changes: Message) -> None:
        self.sides: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.apply(changes)

    def apply(self, changes: Message) -> None:
        for side, price, quantity in changes:
            if quantity:
                self.sides[side][price] = quantity
            else:
                del self.sides[side][price]
        bids, asks = sorted(self.sides[BID]), sorted(self.sides[ASK])
        if bids and asks and bids[-1] >= asks[0]:
            raise ValueError("crossed")


class Assignments:
    """The least that anything could do: no rank, no check, nothing taken back."""

    def __init__(self, changes: Message) -> None:
        self.levels: dict[tuple[int, int], int] = {}
        self.apply(changes)

    def apply(self, changes: Message) -> None:
        for side, price, quantity in changes:
            self.levels[side, price] = quantity


def first_message(levels: int) -> list[tuple[int, int, int]]:
    """A book of so many levels, half of them bids."""
    return [
        change
        for away in range(levels // 2)
        for change in ((BID, BEST_BID - away, 5), (ASK, BEST_BID + 1 + away, 5))
    ]


def messages(levels: int, count: int) -> list[list[tuple[int, int, int]]]:
    """Messages of one to three changes, most of them within ten ticks of the best."""
    chance = random.Random(levels)
    book = OrderBook(first_message(levels))
    made = []
    for _ in range(count):
        message: list[tuple[int, int, int]] = []
        for _ in range(chance.randint(1, 3)):
            side = chance.choice((BID, ASK))
            away = min(int(chance.expovariate(1 / 6)), levels // 2 - 1)
            price = BEST_BID - away if side == BID else BEST_BID + 1 + away
            removed = book.quantity(side, price) and chance.random() < 0.4
            change = (side, price, 0 if removed else chance.randint(1, 1_000))
            book.apply([change])
            message.append(change)
        made.append(message)
    return made


def seconds(make: Callable, levels: int, history: Iterable[Message]) -> float:
    apply = make(first_message(levels)).apply
    gc.collect()
    began = time.process_time()
    for message in history:
        apply(message)
    return time.process_time() - began


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.order_books",
        description="Apply the same messages to three kinds of books, in turn. Ends "
        f"with an error below {SMALLEST_RATE:,} changes a second as on idle cores.",
        epilog="example: python -m tests.benchmarks.order_books --messages 20000",
    )
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--busy",
        action="store_true",
        help=f"the machine is: a change may take {MOST_ASSIGNMENTS} assignments",
    )
    asked = parser.parse_args()
    makes = {
        "OrderBook": OrderBook,
        "sorted at every look": SortedWhenLookedAt,
        "assignments alone": Assignments,
    }
    shown = Table(
        "levels", "book", "changes/s", "times OrderBook", title="median of CPU time"
    )
    slowest, dearest = float("inf"), 0.0
    for levels in (100, 200, 400):
        history = messages(levels, asked.messages)
        changes = sum(map(len, history))
        taken: dict[str, list[float]] = {name: [] for name in makes}
        for _ in range(asked.rounds):
            for name, make in makes.items():
                taken[name].append(seconds(make, levels, history))
        own = statistics.median(taken["OrderBook"])
        slowest = min(slowest, changes / own)
        dearest = max(dearest, own / statistics.median(taken["assignments alone"]))
        for name, values in taken.items():
            median = statistics.median(values)
            shown.add_row(
                str(levels), name, f"{changes / median:,.0f}", f"{own / median:.2f}"
            )
    Console().print(shown)
    if asked.busy:
        return int(dearest > MOST_ASSIGNMENTS)
    idle = pace.idle_rate(slowest)
    Console().print(f"fewest: {slowest:,.0f} changes/s, on idle cores {idle:,.0f}")
    return int(idle < SMALLEST_RATE)


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))

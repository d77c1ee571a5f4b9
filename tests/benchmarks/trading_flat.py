"""What an order costs beside a long past, and in a deep book.

Run it with `python -m tests.benchmarks.trading_flat`; it takes a quarter of an hour. Of
two installations one has a past of 10,000 orders and trades, the other one of a
million; each has a market with 10 levels on each side, and one with 1,000. By turns
each takes orders one by one, half of which trade. It ends with exit code 1 where the
longer past, or the deeper book, makes the middle order more than 1.3 times as costly,
in time or in processor.
"""

import argparse
import multiprocessing
import os
import random
import statistics
import sys
from multiprocessing.connection import Connection
from time import perf_counter, process_time
from typing import Any, NamedTuple
from uuid import UUID

from rich.console import Console
from rich.table import Table

from tests.benchmarks.trading import backend_seconds, login_of
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

PAST = (10_000, 1_000_000)
DEPTHS = (10, 1_000)
MOST_RATIO = 1.3
CLIENTS, MAKERS = 200, 4
MIDDLE, DEEP = 10_000, 10**6
"""The price in cents around which levels lie, and the units of each."""


class Measured(NamedTuple):
    """Of a round: the middle order's milliseconds, and those of processor an order."""

    time: float
    processor: float


class Book:
    """A market of so many levels on each side, a cent from each other."""

    def __init__(self, levels: int, clients: list[Any]) -> None:
        from tests.marketdata.trading.trading import (
            buy,
            give,
            new_market,
            place,
            sell,
        )

        token = new_market(MIDDLE, tick_cents=1)
        self.token_id: UUID = token.pk
        self.accounts: list[UUID] = [client.pk for client in clients[MAKERS:]]
        give(token, dict.fromkeys(clients, 10**12))
        for number in range(0, levels, 50):
            away = range(number + 1, min(number + 50, levels) + 1)
            maker = clients[number // 50 % MAKERS]
            place(
                token,
                *(buy(maker, DEEP, MIDDLE - cents) for cents in away),
                *(sell(maker, DEEP, MIDDLE + cents) for cents in away),
            )

    def order(self, dice: random.Random) -> Any:
        """One that trades with the best level, or one that rests near it."""
        from marketdata.trading.market import Request

        side, trades = dice.randrange(2), dice.random() < 0.5
        away = -1 if trades else dice.randint(1, 10)
        price = MIDDLE - away if side == 0 else MIDDLE + away
        account = dice.choice(self.accounts)
        return Request(
            account, side, 1, price, login_of(account), "IOC" if trades else "GTC"
        )

    def take(self, dice: random.Random, count: int) -> Measured:
        from marketdata.trading.market import place_each

        calls = []
        postgresql, python = backend_seconds(), process_time()
        for _ in range(count):
            request = self.order(dice)
            began = perf_counter()
            place_each(self.token_id, [request])
            calls.append(perf_counter() - began)
        spent = backend_seconds() - postgresql + process_time() - python
        return Measured(statistics.median(calls) * 1000, spent / count * 1000)


def serve(past: int, orders: int, asked: Connection) -> None:
    """An installation with such a past, whose books take orders when they are asked."""
    with throw_away_installation(durable=True):
        from django.db import transaction

        from tests.benchmarks.trading_history import add_history
        from tests.marketdata.trading.trading import deposit, new_clients, new_partner
        from tests.owner import tamper

        with transaction.atomic():
            tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        clients = [
            client
            for _ in range(4)
            for client in new_clients(CLIENTS // 4, new_partner())
        ]
        for client in clients:
            deposit(client, 10**15)
        dice = random.Random(1)
        books = [Book(levels, clients) for levels in DEPTHS]
        for book in books:
            book.take(dice, 200)
            add_history(book.token_id, past // len(books))
        for book in books:
            book.take(dice, 100)
        asked.send(None)
        while (place := asked.recv()) is not None:
            asked.send(books[place].take(dice, orders))


def rounds(count: int, orders: int, past: tuple[int, int]) -> dict[Any, list[Measured]]:
    """By past and depth, what each round has measured."""
    spawn = multiprocessing.get_context("spawn")
    found: dict[Any, list[Measured]] = {}
    servers = []
    for length in past:
        here, there = spawn.Pipe()
        server = spawn.Process(target=serve, args=(length, orders, there))
        server.start()
        there.close()
        servers.append((length, here, server))
    for _, pipe, _ in servers:
        pipe.recv()
    for _ in range(count):
        for length, pipe, _ in servers:
            for place, levels in enumerate(DEPTHS):
                pipe.send(place)
                found.setdefault((length, levels), []).append(pipe.recv())
    for _, pipe, server in servers:
        pipe.send(None)
        server.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trading_flat",
        description="Measure an order beside a short and a long past, and in books of "
        "few and of many levels.",
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--orders", type=int, default=100, help="of a round and book")
    parser.add_argument("--past", type=int, default=PAST[1], help="the longer one")
    arguments = parser.parse_args()
    past = (PAST[0], arguments.past)
    load = os.getloadavg()[0]
    found = rounds(arguments.rounds, arguments.orders, past)
    middle = {
        case: Measured(*map(statistics.median, zip(*measured, strict=True)))
        for case, measured in found.items()
    }
    least = middle[past[0], DEPTHS[0]]
    table = Table("orders and trades", "levels", "ms", "×", "processor ms", "×")
    for (length, levels), (time, processor) in middle.items():
        table.add_row(
            f"{length:,}", f"{levels:,}", f"{time:.2f}", f"{time / least.time:.2f}",
            f"{processor:.2f}", f"{processor / least.processor:.2f}",
        )  # fmt: skip
    table.title = f"an order, load {load:.1f} to {os.getloadavg()[0]:.1f}"
    Console(width=100).print(table)
    flat = [
        of.time <= MOST_RATIO * least.time
        and of.processor <= MOST_RATIO * least.processor
        for of in middle.values()
    ]
    return int(not all(flat))


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())

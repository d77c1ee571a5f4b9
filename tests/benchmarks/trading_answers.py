"""How long a mutation holds a book, by the selection of its answer.

Run it with `python -m tests.benchmarks.trading_answers`. Orders that trade at once are
placed by turns with `{ order { id } }` and with each selection of a kind that is
allowed, as long as it may be; the time from the lock of the book's head to the commit
is taken. It ends with exit code 1 where a selection lets the book be held more than 1.5
times as long.
"""

import argparse
import os
import random
import statistics
import sys
import uuid
from time import perf_counter
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from tests.benchmarks.trading_flat import MAKERS, MIDDLE, Book
from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

MOST_RATIO = 1.5
LEVELS, ORDERS = 100, 1_000
LONGEST = 4_000
LEAST = "order { id }"
ORDER = """id clientOrderID side type limitPrice quantity filledQuantity filledValue
    remainingQuantity timeInForce expiresAt status statusReason version createdAt
    updatedAt"""
FILL = """id side price quantity value liquidity tradeSequence ledgerSequence at
    bustedAt"""
SELECTIONS = {
    "what is at hand": f"order {{ {ORDER} }} executions {{ {FILL} }}",
    "names of one column": "order { id a§ }",
    "the account's orders": "order { account { orders(first: §) { nodes { "
    f"{ORDER} }} }} }} }}",
    "the account's executions": "order { account { executions(first: §) { nodes { "
    f"{FILL} order {{ {ORDER} }} }} }} }} }}",
    "the order's executions": "order { executions(first: §) { nodes { "
    f"{FILL} order {{ id }} token {{ id symbol }} }} }} }}",
    "the account's cash": "order { account { cashEntries(first: §) { nodes { id kind "
    "amount balanceAfter reference at execution { id } } } } }",
    "counts": "order { account { b§ } }",
    "the account": "order { account { cash { balance reserved available } "
    "investor { verification verifiedUntil frozen } } }",
    "the account's positions": "order { account { positions(first: §) { nodes { "
    "quantity reserved available } } } }",
    "the tape": "order { token { trades(first: §) { nodes { sequence price quantity "
    "at busted } } } }",
    "the register": "order { token { transactions(first: §) { nodes { sequence kind "
    "amount effectiveAt } } priceHistory(first: 10) { nodes { price } } } }",
    "the book": "order { token { orderBook(depth: §) { sequence bids { price quantity "
    "} asks { price quantity } } market { floorPrice capPrice } } }",
    "the table": "order { token { issuer { capitalizationTable { totalValue "
    "holderCount } } } }",
}
"""By what is asked for; § is how much of it, and grows until it is too costly."""
REPEATED = {"a§": "a#: updatedAt", "b§": "b#: orders(first: 1) { totalCount }"}


class Holding:
    """How long each transaction has held the books that it locked, in seconds."""

    def __init__(self) -> None:
        from marketdata.trading import locked

        self.books, self.times = locked.books, list[float]()

    def __call__(self, *arguments: Any) -> Any:
        from django.db import transaction

        found = self.books(*arguments)
        began = perf_counter()
        transaction.on_commit(lambda: self.times.append(perf_counter() - began))
        return found


class Placing:
    """Buys one unit at a time of the best level, with a selection of the answer."""

    def __init__(self, ask: Any, book: Book) -> None:
        self.ask = ask
        self.input = {
            "accountID": f"Account|{book.accounts[0]}",
            "tokenID": f"Token|{book.token_id}",
            "side": "BUY",
            "quantity": 1,
            "limitPrice": MIDDLE + 1,
            "timeInForce": "IOC",
        }

    def place(self, selection: str) -> Any:
        document = f"""mutation ($input: PlaceOrderInput!) {{
            placeOrder(input: $input) {{ {selection} }} }}"""
        key = {"Idempotency-Key": str(uuid.uuid4())}
        return self.ask(document, {"input": self.input}, **key)

    def longest(self, selection: str) -> str:
        """The selection with as much of it as is allowed.

        Raises:
            AssertionError: not even one of it is.
        """
        allowed, refused = 0, LONGEST
        if "§" not in selection:
            allowed = refused
        while refused - allowed > 1:
            middle = (allowed + refused) // 2
            answer = self.place(filled(selection, middle))
            if "errors" in answer.body:
                refused = middle
            else:
                allowed = middle
        found = filled(selection, allowed)
        assert self.place(found).data["placeOrder"]["order"], found
        return found


def filled(selection: str, count: int) -> str:
    for place, template in REPEATED.items():
        each = [template.replace("#", str(number)) for number in range(count)]
        selection = selection.replace(place, " ".join(each))
    return selection.replace("§", str(count))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trading_answers",
        description="Measure how long a book is held while answers are made.",
    )
    parser.add_argument("--rounds", type=int, default=100)
    rounds: int = parser.parse_args().rounds
    with throw_away_installation(durable=True):
        held, costs = measure(rounds)
    middle = {name: statistics.median(times) * 1000 for name, times in held.items()}
    table = Table("selection", "points", "held, ms", "×")
    for name, time in middle.items():
        ratio = time / middle[LEAST]
        table.add_row(name, f"{costs[name]:,}", f"{time:.2f}", f"{ratio:.2f}")
    table.title = f"load {os.getloadavg()[0]:.1f}"
    Console(width=100).print(table)
    return int(max(middle.values()) > MOST_RATIO * middle[LEAST])


def measure(rounds: int) -> tuple[dict[str, list[float]], dict[str, int]]:
    """By selection, how long each order held the book, and what it cost."""
    from django.db import transaction

    from accounts.access import Scope
    from marketdata.trading.market import place_each
    from partnerapi.sandbox.data.approvals import approved_grant, approved_key
    from tests.benchmarks.graphql.rows import analyze
    from tests.characters import Ask
    from tests.marketdata.trading.trading import deposit, new_clients, new_partner
    from tests.owner import tamper

    with transaction.atomic():
        tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
    partner = new_partner()
    approved_grant(partner)
    clients = new_clients(MAKERS + 1, partner)
    for client in clients:
        deposit(client, 10**15)
    dice, book = random.Random(1), Book(LEVELS, clients)
    for _ in range(ORDERS // 100):
        requests = [book.order(dice) for _ in range(100)]
        place_each(book.token_id, requests)
    analyze()
    placing = Placing(Ask(approved_key(partner, list(Scope))[1]), book)
    chosen = {LEAST: LEAST}
    chosen |= {name: placing.longest(text) for name, text in SELECTIONS.items()}
    holding = Holding()
    held: dict[str, list[float]] = {name: [] for name in chosen}
    costs = {}
    with patch("marketdata.trading.locked.books", holding):
        for _ in range(rounds):
            for name, selection in chosen.items():
                answer = placing.place(selection)
                costs[name] = int(answer.headers["X-Query-Cost"])
                held[name].append(holding.times.pop())
    return held, costs


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())

"""Orders over HTTP: how many a second, and when FIX and the table show them.

Run it on a quiet machine: `python -m tests.benchmarks.trading_http`. Clients, web
server and PostgreSQL share its processors, every commit is on the disk, budgets never
run out. First sixteen connections place orders on eight tokens, one by one and in lists
of 100. Then one order at a time goes to one worker, now resting, now trading. The
output has the time until a FIX client gets the change, with the default conflation. The
next request must find the trade in the capitalization table. Then two servers of one
process take turns: one whose orders for a market go together, and one whose orders do
not. Markets with a tariff take turns with markets without one. Last, one partner after
the other is stopped while sixteen senders fill one process. Each figure stands beside
its value on idle cores. It ends with exit code 1 where that value misses its number.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID, uuid4

from rich.console import Console
from rich.table import Table

from tests.benchmarks.dear_documents import nanoseconds, sessions
from tests.benchmarks.trading import flow, login_of, make_markets
from tests.benchmarks.turns import web
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.clients import Connection
from tests.chaos.pooled import request_of
from tests.chaos.web import serving
from tests.installation import throw_away_installation

if TYPE_CHECKING:
    from accounts.accounts.models import Account
    from issuers.models import Token
    from marketdata.fix.client.client import Client

CONNECTIONS = 16
CONNECT_SECONDS = 0.02
"""Between one connection's beginning and the next one's."""
WARM_UP_SECONDS = 2.0
FEWEST_SINGLE, FEWEST_OF_LISTS = 100, 800
"""Orders a second."""
MOST_SECONDS = 0.25
"""That 99 of 100 orders may take, until they are answered and until FIX has them."""
ROUNDS, ROUND_SECONDS = 5, 3.0
GROUPED = [
    ("a lone caller", 1, 1),
    ("sixteen callers, one market", 1, CONNECTIONS),
    ("sixteen callers, eight markets", 8, CONNECTIONS),
]
"""How many connections place orders on how many markets."""
MOST_PROCESSOR = {
    "a lone caller": 1.1,
    "sixteen callers, one market": 0.7,
    "sixteen callers, eight markets": 1.15,
}
"""Of what an order costs that goes alone."""
LEAST_RATE = 0.9
"""Of markets with a tariff, of what markets without one do."""
RATES = (5, 10, 100, 5_000, 1_900)
"""Of a tariff: rates in basis points, bounds in cents, VAT in basis points."""
KILLS, KILL_SECONDS, PAUSE_SECONDS = 10, 60.0, 0.2
"""For each partner, as often as a key may in a minute; of the senders; between two."""
MOST_KILL_SECONDS = 1.0
"""That 99 of 100 take."""
ACCEPTED = "accepted"
PRICE, UNITS = 10_000, 10
FIX_SECONDS = 30
PLACE = """
mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) {
  order { id status filledQuantity } executions { price quantity } } }
"""
PLACE_EACH = """
mutation ($input: PlaceOrdersInput!) { placeOrders(input: $input) {
  results { order { id status } code } } }
"""
TABLE = """
query ($id: ID!) { issuer(id: $id) { capitalizationTable { holders {
  tokenBalances { balanceSpecificToken } } } } }
"""


CANCEL = """
mutation ($input: CancelOrdersInput!) { cancelOrders(input: $input) { blocked } }
"""
RELEASE = """
mutation ($input: BlockOrdersInput!) { releaseOrders(input: $input) { released } }
"""


class Group(NamedTuple):
    """Clients of one partner on one token; `key` is the partner's."""

    token: UUID
    partner: UUID
    key: str
    accounts: list[UUID]


def make_groups() -> list[list[Group]]:
    """By token."""
    from accounts.access import Scope
    from accounts.accounts.models import Account
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_key

    tokens, accounts = make_markets()
    keys = {
        partner.pk: approved_key(partner, list(Scope))[1]
        for partner in Partner.objects.all()
    }
    groups = []
    for token, own in zip(tokens, accounts, strict=True):
        by_partner: dict[Any, list[UUID]] = defaultdict(list)
        for account in Account.objects.filter(pk__in=own):
            by_partner[account.partner_id].append(account.pk)
            login_of(account.pk)  # Coroutines find it in the cache.
        groups.append([Group(token, p, keys[p], ids) for p, ids in by_partner.items()])
    return groups


def orders_of(dice: random.Random, group: Group, size: int) -> list[dict[str, object]]:
    return [
        {
            "accountID": f"Account|{request.account_id}",
            "side": ("BUY", "SELL")[request.side],
            "quantity": request.quantity,
            "limitPrice": request.limit_price,
            "timeInForce": request.time_in_force,
        }
        for request in flow(dice, group.accounts, size)
    ]


def request_for(dice: random.Random, groups: list[Group], size: int) -> bytes:
    group = dice.choice(groups)
    token = {"tokenID": f"Token|{group.token}"}
    orders = orders_of(dice, group, size)
    input = token | ({"orders": orders} if size > 1 else orders[0])
    query = PLACE_EACH if size > 1 else PLACE
    return request_of(group.key, {"query": query, "variables": {"input": input}})


class Load(NamedTuple):
    """Orders that were accepted; `seconds` until each request was answered, sorted."""

    orders: int
    took: float
    seconds: list[float]
    refused: Counter[str]

    @property
    def rate(self) -> float:
        return self.orders / self.took


async def load(
    port: int,
    groups: list[list[Group]],
    size: int,
    seconds: float,
    seed: int,
    connections: int = CONNECTIONS,
) -> Load:
    """Place lists of this size on so many connections for this long.

    A connection that gets a 503 repeats its request after Retry-After.
    """
    taken: list[float] = []
    codes: Counter[str] = Counter()
    end = time.perf_counter() + seconds

    async def place(number: int) -> None:
        dice = random.Random(seed + number)
        # Of connections that come together one of the processes would take all.
        await asyncio.sleep(number * CONNECT_SECONDS)
        connection = Connection(port)
        while time.perf_counter() < end:
            request = request_for(dice, groups[number % len(groups)], size)
            began = time.perf_counter()
            while (answer := await connection.ask(request)).status == 503:
                codes["503"] += 1
                await asyncio.sleep(int(answer.headers["retry-after"]))
            taken.append(time.perf_counter() - began)
            assert answer.status == 200, answer
            codes.update(codes_of(json.loads(answer.body)))
        connection.close()

    began = time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for number in range(connections):
            group.create_task(place(number))
    took = time.perf_counter() - began
    accepted = codes.pop(ACCEPTED, 0)
    return Load(accepted, took, sorted(taken), codes)


def codes_of(answer: dict[str, Any]) -> list[str]:
    """Of each order, why it was refused, or ACCEPTED; of an error, its code."""
    if errors := answer.get("errors"):
        return [error["extensions"]["code"] for error in errors]
    [payload] = answer["data"].values()
    results = payload.get("results", [{"code": None}])
    return [result["code"] or ACCEPTED for result in results]


def percentile(values: list[float], share: float) -> float:
    """Of values that are sorted."""
    return values[int(share * (len(values) - 1))]


class Pair(NamedTuple):
    """Two clients of a partner on a token of their own, whom the table shows."""

    token: "Token"
    key: str
    seller: "Account"
    buyer: "Account"


def make_pair() -> Pair:
    from accounts.access import Scope
    from partnerapi.sandbox.data.approvals import approved_grant, approved_key
    from tests.marketdata.trading.trading import (
        deposit,
        give,
        new_clients,
        new_market,
        new_partner,
    )

    token, partner = new_market(PRICE), new_partner()
    approved_grant(partner, token.issuer)
    seller, buyer = new_clients(2, partner)
    deposit(buyer, 10**12)
    give(token, {seller: 10**9})
    _, key = approved_key(partner, list(Scope))
    return Pair(token, key, seller, buyer)


class Shown(NamedTuple):
    """Seconds, sorted: until the answer, until FIX, and what the table's request took.

    `missing` are trades that the next request's table did not show.
    """

    answered: list[float]
    on_fix: list[float]
    table: list[float]
    missing: int


def ask(
    web: HTTPConnection, key: str, query: str, variables: dict[str, Any], **more: str
) -> Any:
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": key,
        "Idempotency-Key": str(uuid4()),
        **more,
    }
    body = json.dumps({"query": query, "variables": variables})
    web.request("POST", "/graphql", body, headers)
    answer = json.loads(web.getresponse().read())
    assert "errors" not in answer, answer
    return answer["data"]


def follow(
    web: HTTPConnection, client: "Client", pair: Pair, orders: int, dice: random.Random
) -> Shown:
    """Place one order at a time, now a sale that rests, now one that buys it."""
    [book] = client.snapshots([pair.token.symbol], trades=True)
    shown = Shown([], [], [], 0)
    for number in range(orders):
        trades = number % 2
        # The feed's ticks must not set the pace of the orders.
        time.sleep(dice.uniform(0, 0.1))
        before = len(book.trades)
        account = pair.buyer if trades else pair.seller
        order = {
            "accountID": f"Account|{account.pk}",
            "tokenID": f"Token|{pair.token.pk}",
            "side": "BUY" if trades else "SELL",
            "quantity": UNITS,
            "limitPrice": PRICE,
            "timeInForce": "GTC",
        }
        began = time.perf_counter()
        ask(web, pair.key, PLACE, {"input": order})
        shown.answered.append(time.perf_counter() - began)
        expected = () if trades else ((PRICE, UNITS),)
        while book.ladder().asks != expected or len(book.trades) != before + trades:
            left = began + FIX_SECONDS - time.perf_counter()
            if left <= 0:
                raise TimeoutError(f"FIX has not shown it in {FIX_SECONDS} s")
            client.receive(left)
        shown.on_fix.append(time.perf_counter() - began)
        if trades:
            began = time.perf_counter()
            table = ask(web, pair.key, TABLE, {"id": f"Issuer|{pair.token.issuer_id}"})
            shown.table.append(time.perf_counter() - began)
            bought = UNITS * (number + 1) // 2
            if bought not in held(table):
                shown = shown._replace(missing=shown.missing + 1)
    for seconds in (shown.answered, shown.on_fix, shown.table):
        seconds.sort()
    return shown


def held(data: Any) -> set[int]:
    holders = data["issuer"]["capitalizationTable"]["holders"]
    return {b["balanceSpecificToken"] for h in holders for b in h["tokenBalances"]}


def measure_load(seconds: float, log: Path) -> tuple[Load, Load]:
    """One by one, and in lists of 100."""
    groups = make_groups()
    with serving(log, {}) as port:
        asyncio.run(load(port, groups, 1, WARM_UP_SECONDS, 1_000))
        single = asyncio.run(load(port, groups, 1, seconds, 0))
        asyncio.run(load(port, groups, 100, WARM_UP_SECONDS, 2_000))
        return single, asyncio.run(load(port, groups, 100, seconds, 3_000))


def measure_shown(orders: int, directory: Path) -> Shown:
    from tests.marketdata.fix.acceptor_process import running_acceptor
    from tests.marketdata.fix.market import new_member

    pair = make_pair()
    member = new_member(1)
    with (
        serving(directory / "web.log", {}, workers=1) as port,
        running_acceptor(directory / "acceptor.log", [member]) as acceptor,
        acceptor.client() as client,
    ):
        web = HTTPConnection("127.0.0.1", port, timeout=FIX_SECONDS)
        dice = random.Random(7)
        shown = follow(web, client, pair, orders, dice)
        web.close()
    return shown


class Kills(NamedTuple):
    """Seconds until each was answered, sorted; orders that rested after it."""

    seconds: list[float]
    left: int


def measure_kills(directory: Path) -> Kills:
    """Stop one partner after the other, while senders fill every place of a server."""
    from accounts.access import Scope
    from accounts.keys.models import Partner
    from marketdata.trading.models import Order, OrderStatus
    from partnerapi.sandbox.data.approvals import approved_key

    groups = make_groups()
    partners = {group.partner for market in groups for group in market}
    kept = [
        (p, approved_key(Partner.objects.get(pk=p), list(Scope))[1]) for p in partners
    ]
    kills = Kills([], 0)
    with serving(directory / "kills.log", {}, workers=1) as port:
        sending = Thread(
            target=lambda: asyncio.run(load(port, groups, 1, KILL_SECONDS, 4_000))
        )
        web = HTTPConnection("127.0.0.1", port, timeout=FIX_SECONDS)
        sending.start()
        time.sleep(WARM_UP_SECONDS)
        for partner, key in kept * KILLS:
            began = time.perf_counter()
            ask(web, key, CANCEL, {"input": {"block": True}}, **{"X-Kill-Switch": "1"})
            kills.seconds.append(time.perf_counter() - began)
            resting = Order.objects.filter(partner=partner, status=OrderStatus.OPEN)
            kills = kills._replace(left=kills.left + resting.count())
            ask(web, key, RELEASE, {"input": {}})
            time.sleep(PAUSE_SECONDS)
        is_under_load = sending.is_alive()
        sending.join()
        web.close()
    assert is_under_load
    kills.seconds.sort()
    return kills


class Saved(NamedTuple):
    """Medians of rounds, where orders go together and where they do not.

    `rate` is orders a second, `web` and `database` milliseconds of processor an order.
    """

    rate: float
    web: float
    database: float

    @property
    def processor(self) -> float:
        return self.web + self.database


def measure_saved(directory: Path) -> dict[str, tuple[Saved, Saved]]:
    """What it saves that orders go together, by how many send them where."""
    groups = make_groups()
    together = web(directory / "together.log")
    apart = web(directory / "apart.log", application="tests.benchmarks.without_groups")
    found: dict[str, tuple[Saved, Saved]] = {}
    with together as one, apart as other:
        for name, markets, connections in GROUPED:
            rounds: tuple[list[Saved], list[Saved]] = ([], [])
            for number in range(ROUNDS + 1):
                for server, taken in zip((one, other), rounds, strict=True):
                    taken.append(
                        saved(server, groups[:markets], connections, 10_000 + number)
                    )
            here, there = (
                Saved(*map(statistics.median, zip(*taken[1:], strict=True)))
                for taken in rounds
            )
            found[name] = here, there
    return found


def measure_tariffs(directory: Path) -> tuple[Saved, Saved]:
    """Eight markets with a tariff, and eight without, which take turns."""
    from issuers.models import Token
    from marketdata.trading.fees import Terms
    from tests.marketdata.trading.trading import approved_tariff

    free, charged = make_groups(), make_groups()
    for [group, *_] in charged:
        approved_tariff(Token.objects.get(pk=group.token), Terms(*RATES))
    rounds: tuple[list[Saved], list[Saved]] = ([], [])
    with web(directory / "tariffs.log") as server:
        for number in range(ROUNDS + 1):
            for groups, taken in zip((charged, free), rounds, strict=True):
                taken.append(saved(server, groups, CONNECTIONS, 20_000 + number))
    with_tariff, without = (
        Saved(*map(statistics.median, zip(*taken[1:], strict=True))) for taken in rounds
    )
    return with_tariff, without


def saved(
    server: tuple[int, int], groups: list[list[Group]], connections: int, seed: int
) -> Saved:
    port, worker = server
    before = processor([worker, *sessions()])
    done = asyncio.run(load(port, groups, 1, ROUND_SECONDS, seed, connections))
    after = processor([*before])
    used = {pid: (after[pid] - before[pid]) / done.orders / 1e6 for pid in after}
    web = used.pop(worker)
    return Saved(done.rate, web, sum(used.values()))


def processor(pids: list[int]) -> dict[int, int]:
    """What processes have run, nanoseconds; sessions may have ended."""
    found = {}
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = nanoseconds(pid)
    return found


def show_tariffs(console: Console, found: tuple[Saved, Saved]) -> bool:
    """Whether the number is missed: a ratio, which is the same on idle cores."""
    charged, free = found
    rate = charged.rate / free.rate
    console.print(
        f"eight markets with a tariff: {charged.rate:,.0f} orders/s, without: "
        f"{free.rate:,.0f}, × {rate:.2f} (promised {LEAST_RATE}); processor × "
        f"{charged.processor / free.processor:.2f}"
    )
    return rate < LEAST_RATE


def show_saved(console: Console, found: dict[str, tuple[Saved, Saved]]) -> bool:
    """Whether numbers are missed: ratios, which are the same on idle cores."""
    table = Table(
        "", "orders/s", "alone", "×", "web + database ms an order", "alone", "×", ""
    )
    is_missed = False
    for name, (here, there) in found.items():
        faster = here.rate / there.rate
        cheaper = here.processor / there.processor
        missed = cheaper > MOST_PROCESSOR[name]
        is_missed |= missed
        table.add_row(
            name, f"{here.rate:,.0f}", f"{there.rate:,.0f}", f"{faster:.2f}",
            f"{here.web:.2f} + {here.database:.2f}",
            f"{there.web:.2f} + {there.database:.2f}", f"{cheaper:.2f}",
            "MISSED" if missed else "",
        )  # fmt: skip
    console.print(table)
    return is_missed


class Figure(NamedTuple):
    """Orders a second, at least; or seconds, at most."""

    name: str
    measured: float
    promised: float
    is_rate: bool

    def is_missed(self, pace: Pace) -> bool:
        if self.is_rate:
            return pace.idle_rate(self.measured) < self.promised
        return pace.idle(self.measured) > self.promised

    def row(self, pace: Pace) -> list[str]:
        if self.is_rate:
            values = [self.measured, pace.idle_rate(self.measured), self.promised]
            told = [f"{value:,.0f}/s" for value in values]
        else:
            values = [self.measured, pace.idle(self.measured), self.promised]
            told = [f"{value * 1000:.0f} ms" for value in values]
        return [self.name, *told, "MISSED" if self.is_missed(pace) else ""]


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.trading_http",
        description="Measure orders over HTTP, and when FIX and the table show them.",
    )
    parser.add_argument("--seconds", type=float, default=20, help="of each load (20)")
    parser.add_argument(
        "--orders", type=int, default=300, help="followed one by one (300)"
    )
    options = parser.parse_args()
    with (
        throw_away_installation(durable=True),
        tempfile.TemporaryDirectory() as made,
    ):
        directory = Path(made)
        single, lists = measure_load(options.seconds, directory / "load.log")
        shown = measure_shown(options.orders, directory)
        found = measure_saved(directory)
        tariffs = measure_tariffs(directory)
        kills = measure_kills(directory)
    figures = [
        Figure("placeOrder", single.rate, FEWEST_SINGLE, True),
        Figure(
            "placeOrder, p99", percentile(single.seconds, 0.99), MOST_SECONDS, False
        ),
        Figure("placeOrders of 100, orders", lists.rate, FEWEST_OF_LISTS, True),
        Figure(
            "on FIX after it was sent, p99",
            percentile(shown.on_fix, 0.99),
            MOST_SECONDS,
            False,
        ),
        Figure(
            "kill switch, p99",
            percentile(kills.seconds, 0.99),
            MOST_KILL_SECONDS,
            False,
        ),
    ]
    console = Console(width=120)
    table = Table("", "measured", "on idle cores", "promised", "")
    for figure in figures:
        table.add_row(*figure.row(pace))
    console.print(table)
    for name, values in {
        "placeOrder": single.seconds,
        "placeOrders of 100": lists.seconds,
        "one at a time, answered": shown.answered,
        "one at a time, on FIX": shown.on_fix,
        "the table": shown.table,
        "kill switch": kills.seconds,
    }.items():
        told = (
            f"p{s * 100:.0f} {percentile(values, s) * 1e3:.0f}" for s in (0.5, 0.99)
        )
        console.print(f"{name}: {', '.join(told)} ms, of {len(values):,}")
    console.print(f"trades that the table did not show: {shown.missing}")
    console.print(f"orders that rested after a kill: {kills.left}")
    console.print(
        f"refused, or sent again: {dict(single.refused + lists.refused) or 'nothing'}"
    )
    missed = show_saved(console, found)
    missed |= show_tariffs(console, tariffs)
    console.print(f"load {os.getloadavg()[0]:.1f}")
    missed |= shown.missing + kills.left > 0 or any(
        figure.is_missed(pace) for figure in figures
    )
    return int(missed)


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))

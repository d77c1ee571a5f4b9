"""A market's log of many simulated orders, played again through the pure matcher.

    python -m tests.marketdata.trading.replayed --orders 100000

Clients of one market place orders of every kind in lists, and amend and cancel some of
those that rest. Then the log is played through the matcher, without the database, and
the trades that come of it are compared with the executions: their orders, prices and
units. It ends with exit code 1 where one differs.
"""

import argparse
import random
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tests.installation import throw_away_installation

if TYPE_CHECKING:
    from accounts.accounts.models import Account
    from issuers.models import Token

CLIENTS, AT_ONCE, PRICE = 40, 100, 1_000
IN_FORCE = ["GTC", "GTC", "GTC", "DAY", "IOC", "FOK"]
Trade = tuple[Any, Any, int, int]
"""The buy order, the sell order, cents and units."""


def simulate(orders: int, dice: random.Random) -> "Token":
    """A market that has taken so many orders."""
    token, clients = market_of_clients()
    trade(token, clients, orders, dice)
    return token


def market_of_clients() -> "tuple[Token, list[Account]]":
    """A market whose clients have the cash and the units for anything."""
    from tests.marketdata.trading.trading import deposit, give, new_clients, new_market

    token, clients = new_market(PRICE), new_clients(CLIENTS)
    for client in clients:
        deposit(client, 10**12)
    give(token, dict.fromkeys(clients, 10**9))
    return token, clients


def trade(
    token: "Token", clients: "list[Account]", orders: int, dice: random.Random
) -> None:
    """Place so many orders, in lists, and change a few after each."""
    from tests.marketdata.trading.trading import place

    for done in range(0, orders, AT_ONCE):
        size = min(AT_ONCE, orders - done)
        place(token, *(some_order(dice, clients) for _ in range(size)))
        change_some(token, dice)


def some_order(dice: random.Random, clients: list["Account"]) -> Any:
    """More than half of them trade."""
    from tests.marketdata.trading.trading import buy, sell

    ask, away = dice.choice([(buy, -1), (sell, 1)])
    price = PRICE + away * (round(dice.gauss(0, 6)) + 1)
    in_force = dice.choice(IN_FORCE)
    return ask(dice.choice(clients), dice.randint(1, 30), price, time_in_force=in_force)


def change_some(token: "Token", dice: random.Random) -> None:
    """Amend a few resting orders, and cancel others."""
    from marketdata.trading import market
    from marketdata.trading.models import Order

    resting = Order.objects.filter(token=token, status="OPEN").order_by("priority")
    first = dice.randrange(max(resting.count(), 1))
    found = list(resting[first : first + 12])
    for order in found[:4]:
        market.amend(
            order.pk,
            order.version,
            order.partner.login,
            quantity=order.filled + dice.randint(1, 30),
            limit_price=order.limit_price + dice.choice([0, 0, -2, 2]),
        )
    for order in found[4:]:
        market.cancel_each(token.pk, [order.pk], "BY_PARTNER", order.partner.login)


def replayed(token: "Token") -> list[Trade]:
    """The trades that the matcher makes of the log's orders.

    Raises:
        AssertionError: what the log says does not come of it.
    """
    from marketdata.trading.replay import Replay, events

    matcher, trades = Replay({}), list[Trade]()
    sides: list[Any] = []
    for said in events(token.pk, lambda done: None):
        wrong = matcher.follow(said)
        assert not wrong, f"event {said.number}, {said.kind}: {wrong}"
        if said.kind == "ORDER_TRADED":
            sides.append(said)
        if len(sides) == 2:
            buyer, seller = sorted(sides, key=lambda one: one.side)
            trades.append((buyer.order, seller.order, said.price, said.quantity))
            sides.clear()
    assert not matcher.due, "the log ends before a trade that was due"
    return trades


def executed(token: "Token") -> list[Trade]:
    from marketdata.trading.models import Execution

    rows = Execution.objects.filter(token=token).order_by("sequence")
    return [*rows.values_list("buy_order", "sell_order", "price", "quantity")]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.trading.replayed",
        description="Play the log of simulated orders through the pure matcher.",
    )
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with throw_away_installation():
        from marketdata.trading.models import OrderEvent

        began = perf_counter()
        token = simulate(options.orders, random.Random(options.seed))
        took, began = perf_counter() - began, perf_counter()
        expected, found = executed(token), replayed(token)
        replaying = perf_counter() - began
        differ = sum(a != b for a, b in zip(expected, found, strict=False))
        differ += abs(len(expected) - len(found))
        units = sum(quantity for *_, quantity in expected)
        sys.stdout.write(
            f"{options.orders:,} orders in {took:,.0f} s; "
            f"{OrderEvent.objects.filter(token=token).count():,} events replayed in "
            f"{replaying:,.0f} s: {len(found):,} trades of {units:,} units, "
            f"{differ} differ\n"
        )
    return int(differ > 0 or not found)


if __name__ == "__main__":
    sys.exit(main())

"""An auction of 10,000 orders, and what the same clients feel in another market.

Run it with `python -m tests.benchmarks.auction`; it takes two minutes. It ends with
exit code 1 where the auction takes more than five seconds from its second to the phase
that follows, where an order in the other market waits two seconds for a lock or the
slowest hundredth of them takes more than 1.5 s, or where book, tape, log and balances
are not those of the auction afterwards.
"""

import argparse
import random
import sys
from threading import Event, Thread
from time import perf_counter
from typing import Any

from tests.benchmarks.yardstick import yardstick
from tests.installation import throw_away_installation

CLIENTS, LIST = 200, 100
MIDDLE, AWAY = 10_000, 400
MOST_SECONDS, MOST_WAIT = 5.0, 1.5
LOCK_SECONDS = 2
"""A request waits so long for a lock."""


def collect(token: Any, clients: list[Any], orders: int, chance: random.Random) -> None:
    """Place orders of both sides around one price, lists of one client each."""
    from tests.marketdata.trading.trading import buy, place, sell

    for number in range(orders // LIST):
        client = clients[number % len(clients)]
        ask = sell if number % 2 else buy
        requests = [
            ask(client, chance.randint(1, 50), MIDDLE + chance.randint(-AWAY, AWAY))
            for _ in range(LIST)
        ]
        place(token, *requests)


def trade(
    token: Any, clients: list[Any], ends: Event, times: list[float], late: list[str]
) -> None:
    """Place orders one by one until `ends` is set; `times` in seconds."""
    from django.db import OperationalError, connection

    from partnerapi.core.database import execute
    from tests.marketdata.trading.trading import buy, place, sell

    chance = random.Random(len(times))
    execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    while not ends.is_set():
        client, ask = chance.choice(clients), chance.choice([buy, sell])
        began = perf_counter()
        try:
            place(token, ask(client, 1, MIDDLE + chance.randint(-5, 5)))
        except OperationalError as error:
            late.append(str(error))
        times.append(perf_counter() - began)
    connection.close()


def findings(token: Any) -> list[str]:
    """What differs afterwards: invariants, the replay, the book that FIX reads."""
    from marketdata.books.current_books import read_books
    from marketdata.books.reading import make_books
    from marketdata.trading.replay import replay
    from marketdata.trading.verification import INVARIANTS
    from partnerapi.core.invariants import check_invariants

    found = [f.rule for f in check_invariants(INVARIANTS) if f.breaches]
    found += replay(token.pk)
    made, _ = make_books([token.pk])
    shown = read_books([str(token.pk)])[str(token.pk)]
    ladder = made[token.pk].ladder(0)
    sides = [[*map(tuple, side)] for side in (shown.bids, shown.asks)]
    if [[*map(tuple, side)] for side in ladder[:2]] != sides:
        found.append("the book of the log is not that of the levels")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.auction",
        description="Time an auction beside clients of another market.",
    )
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with throw_away_installation():
        from marketdata.trading import phases
        from marketdata.trading.models import Auction, Market
        from tests.approved import asker
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )
        from tests.owner import tamper

        chance = random.Random(options.seed)
        tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
        token, other = new_market(MIDDLE), new_market(MIDDLE)
        clients = [
            c for _ in range(4) for c in new_clients(CLIENTS // 4, new_partner())
        ]
        for client in clients:
            deposit(client, 10**10)
        for each in (token, other):
            give(each, dict.fromkeys(clients, 10**6))
        phases.change_phase(token.pk, "CALL", asker())
        collect(token, clients, options.orders, chance)
        ends, times, late = Event(), list[float](), list[str]()
        traders = [
            Thread(target=trade, args=(other, clients, ends, times, late))
            for _ in range(2)
        ]
        for trader in traders:
            trader.start()
        while len(times) < 100:
            ends.wait(0.05)
        before = len(times)
        tamper("UPDATE trading_auction SET earliest_at = now(), ends_at = now()")
        began, steps = perf_counter(), 1
        while phases.uncross_due():
            steps += 1
        lasted = perf_counter() - began
        meanwhile = sorted(times[before:])
        ends.set()
        for trader in traders:
            trader.join()
        slow = meanwhile[int(len(meanwhile) * 0.99)] if meanwhile else 0.0
        usual = sorted(times[:before])[int(before * 0.99)]
        auction = Auction.objects.get(token=token)
        phase = Market.objects.get(token=token).phase
        wrong = findings(token)
        sys.stdout.write(
            f"{options.orders} orders, {auction.fills} fills, {auction.quantity} units "
            f"at {auction.price}: {lasted:.2f} s in {steps} steps, then {phase}\n"
            f"meanwhile {len(meanwhile)} orders in another market: p99 {slow:.3f} s "
            f"(before: {usual:.3f} s), slowest {max(meanwhile, default=0):.3f} s, "
            f"{len(late)} TIMEOUT\n" + "".join(f"{each}\n" for each in wrong)
        )
        is_well = lasted <= MOST_SECONDS and slow <= MOST_WAIT and not late
        return 0 if is_well and not wrong and phase == "CONTINUOUS" else 1


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())

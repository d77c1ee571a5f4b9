"""What a mutation costs with idempotency, and what the same one costs without it.

Run it on a quiet machine: `python -m tests.benchmarks.idempotency`. One client asks
two real servers in turn, each of one worker, over a database that syncs every commit.
It ends with exit code 1 when the medians' ratio is above 1.5.
"""

import argparse
import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Iterator
from uuid import uuid4

from rich.console import Console
from rich.progress import track
from rich.table import Table

from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import STATUSES, Connection, make_request
from tests.chaos.findings import read_histories
from tests.chaos.installation import Web, breakable_installation

MUTATIONS = 2_000
WARM_UP = 100
HIGHEST_RATIO = 1.5
APPLICATIONS = {
    "with idempotency": "partnerapi.wsgi",
    "without": "tests.benchmarks.without_idempotency",
}


async def ask_in_turn(
    ports: dict[str, int], requests: dict[str, Iterator[bytes]], number: int
) -> dict[str, list[float]]:
    """Seconds that each mutation took, by server; the first ones are not counted."""
    connections = {name: Connection(port) for name, port in ports.items()}
    taken: dict[str, list[float]] = {name: [] for name in ports}
    rounds = track(range(number + WARM_UP), console=Console(stderr=True))
    for turn in rounds:
        # Whoever comes second could profit from the first.
        for name in sorted(ports, reverse=bool(turn % 2)):
            request = next(requests[name])
            began = time.perf_counter()
            answer = await connections[name].ask(request)
            seconds = time.perf_counter() - began
            assert answer.is_final, answer
            assert b'"errors"' not in answer.body, answer
            if turn >= WARM_UP:
                taken[name].append(seconds)
    for connection in connections.values():
        connection.close()
    return taken


def measure(number: int) -> dict[str, list[float]]:
    with breakable_installation() as (processes, _):
        from tests.chaos.population import make_accounts

        token, accounts = make_accounts(len(APPLICATIONS))
        requests = {
            name: iter(
                [
                    make_request(token, str(uuid4()), account, STATUSES[turn % 2])
                    for turn in range(number + WARM_UP)
                ]
            )
            for name, account in zip(APPLICATIONS, accounts, strict=True)
        }
        webs = {n: Web(processes, 1, served) for n, served in APPLICATIONS.items()}
        gc.disable()
        ports = {name: web.port for name, web in webs.items()}
        taken = asyncio.run(ask_in_turn(ports, requests, number))
        for web in webs.values():
            web.close()
        for history in read_histories(accounts).values():
            assert len(history) == number + WARM_UP
        return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.idempotency",
        description="Measures mutations with and without idempotency, in one run.",
        epilog="Example: python -m tests.benchmarks.idempotency --mutations 500",
    )
    parser.add_argument(
        "--mutations", type=int, default=MUTATIONS, help="of each kind (2000)"
    )
    taken = measure(parser.parse_args().mutations)
    table = Table("", "median ms", "p90 ms", title="One mutation over HTTP")
    for name, seconds in taken.items():
        p90 = statistics.quantiles(seconds, n=10)[8]
        median = statistics.median(seconds)
        table.add_row(name, f"{median * 1e3:.2f}", f"{p90 * 1e3:.2f}")
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    ratio = medians["with idempotency"] / medians["without"]
    table.caption = f"{ratio:.2f} times as long; at most {HIGHEST_RATIO}"
    Console().print(table)
    if ratio > HIGHEST_RATIO:
        sys.exit("idempotency costs more than promised")


if __name__ == "__main__":
    with yardstick():
        main()

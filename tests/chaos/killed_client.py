"""The time until a key is free after the process that holds it is killed.

Run it with `python -m tests.chaos.killed_client`. In each round a process claims a key
as the web server does, and is killed while its transaction is idle or busy; meanwhile
a request with the same key waits at the real web server. It ends with exit code 1 when
more than one round in a hundred takes longer than a second as on idle cores, or with
--busy so long that the holder may have let go by itself.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from uuid import UUID

import psycopg
from rich.console import Console
from rich.progress import track

from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.clients import Connection, Key, make_chains
from tests.chaos.ending import end
from tests.chaos.findings import Findings, examine
from tests.chaos.installation import Web, breakable_installation

ROUNDS = 100
LONGEST_SECONDS = 1.0
KEYS_OF_AN_ACCOUNT = 10
BUSY_SECONDS = 30.0
"""Half of what an idle transaction may take, which ends by itself then."""
HELD_SECONDS = 600
START_SECONDS = 120


@dataclass
class Report:
    """Seconds from the kill to the waiting request's answer, per round."""

    idle: list[float]
    busy: list[float]
    findings: Findings
    longest: float

    @property
    def late(self) -> int:
        return sum(taken > self.longest for taken in [*self.idle, *self.busy])

    @property
    def passed(self) -> bool:
        rounds = len(self.idle) + len(self.busy)
        return not self.findings.broken and self.late <= rounds // 100


def hold(key: str, login: str, busy: bool, ready: Pipe) -> None:
    """Claim the key, and sit on it; to be run in a process of its own."""
    from django.db import connection, transaction

    from accounts.access import Caller
    from accounts.keys.models import Partner
    from partnerapi.gateway.idempotency import claim
    from partnerapi.graphql.documents import prepare
    from partnerapi.schema import schema

    partner = Partner.objects.get(login=login)
    caller = Caller(str(partner.pk), login, login, frozenset(), frozenset(), 1, 1)
    prepared = prepare(schema, "mutation { __typename }", None, {})
    with transaction.atomic(), connection.cursor() as cursor:
        claimed = claim(caller, UUID(key), prepared, b"")
        ready.send(claimed is not None)
        if busy:
            cursor.execute("SELECT pg_sleep(%s)", [HELD_SECONDS])
        else:
            time.sleep(HELD_SECONDS)


async def wait_behind(port: int, key: Key, login: str, busy: bool) -> float:
    """Kill the holder of a key; seconds until the request behind it is answered."""
    parent, child = multiprocessing.Pipe()
    holder = multiprocessing.get_context("fork").Process(
        target=hold, args=(key.text, login, busy, child)
    )
    holder.start()
    assert await asyncio.to_thread(parent.recv)
    connection = Connection(port)
    waiting = asyncio.create_task(connection.ask(key.request))
    await asyncio.to_thread(wait_until_blocked, busy)
    assert not waiting.done()
    holder.kill()
    killed_at = time.monotonic()
    answer = await waiting
    while answer.status == 409:
        # A busy machine did not notice within the time that a request waits.
        answer = await connection.ask(key.request)
    taken = time.monotonic() - killed_at
    holder.join()
    connection.close()
    assert answer.is_final, answer
    assert "idempotent-replayed" not in answer.headers
    key.answers[answer.body] += 1
    return taken


def wait_until_blocked(busy: bool) -> None:
    """Until the request waits for the key, and the holder does what it should."""
    holding = "wait_event = 'PgSleep'" if busy else "state = 'idle in transaction'"
    deadline = time.monotonic() + START_SECONDS
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as session:
        while True:
            found = session.execute(
                "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'),"  # noqa: S608
                f" count(*) FILTER (WHERE {holding}) FROM pg_stat_activity"
            ).fetchone()
            if found == (1, 1):
                return
            assert time.monotonic() < deadline, found
            time.sleep(0.01)


def measure(rounds: int, workers: int, longest: float) -> Report:
    with breakable_installation() as (processes, _):
        from accounts.keys.models import Partner
        from tests.chaos.installation import close_connection
        from tests.chaos.population import make_accounts

        accounts = -(-rounds // KEYS_OF_AN_ACCOUNT)
        chains = make_chains(*make_accounts(accounts), KEYS_OF_AN_ACCOUNT)
        login = Partner.objects.get().login
        close_connection()
        web = Web(processes, workers)
        keys = [key for chain in chains for key in chain][:rounds]
        taken: dict[bool, list[float]] = {False: [], True: []}
        for number, key in enumerate(track(keys, console=Console(stderr=True))):
            busy = bool(number % 2)
            taken[busy].append(asyncio.run(wait_behind(web.port, key, login, busy)))
        web.close()
        asked = [[key for key in chain if key.answers] for chain in chains]
        findings = examine(filter(None, asked))
        return Report(taken[False], taken[True], findings, longest)


def show(report: Report) -> None:
    for name, taken in (("idle", report.idle), ("busy", report.busy)):
        Console().print(
            f"{name}: {len(taken)} rounds, median {statistics.median(taken):.2f} s,"
            f" longest {max(taken):.2f} s"
        )
    Console().print(f"{report.late} took over {report.longest:.2f} s")


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.killed_client",
        description="Kills processes that hold an idempotency key, idle and busy in "
        "turn, and measures how long a request with that key still waits.",
        epilog="Example: python -m tests.chaos.killed_client --rounds 10",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many (100)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument(
        "--busy", action="store_true", help="the machine is: judge no second"
    )
    options = parser.parse_args()
    longest = BUSY_SECONDS if options.busy else LONGEST_SECONDS
    report = measure(options.rounds, 2, longest)
    if not options.busy:
        report.longest *= pace.factor
    broken = f"not as promised: {report.late} late, {report.findings.broken}"
    end(report, options.json, show, "" if report.passed else broken)


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)

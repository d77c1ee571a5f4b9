"""One partner on fifty connections, and a stranger beside it, at one web process.

Run it with `python -m tests.benchmarks.turns`; `--events 1000000` is the long form. The
partner has this many events, and sends only costly queries. Meanwhile a stranger
without a key sends cheap ones. The output has the number of 503 answers of each, and
how long the stranger's requests waited for a connection, by the server's own log. With
`--against COMMIT` the web server of that commit serves the same tables. The stranger,
alone, queries both by turns, and the output has a web process's CPU for each of its
requests. It ends with exit code 1 where any answer is not 200, where 99 of 100 of the
stranger's requests did not have a connection within 50 ms as on idle cores, or where
its CPU is more than 1.1 times that of the commit.
"""

import argparse
import asyncio
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.dear_documents import nanoseconds
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.clients import Connection
from tests.chaos.releases import code_of
from tests.chaos.web import serving
from tests.installation import throw_away_installation

EVENTS, CLIENTS, SECONDS = 200_000, 50, 20.0
ISSUERS = 500
MOST_WAITED_MS, MOST_CPU = 50.0, 1.1
PAUSE_SECONDS = 0.02
"""Between two requests of the stranger."""
ROUNDS, REQUESTS, WARM_UP = 21, 100, 200
"""Of the comparison of CPU: requests of each round."""
LOGGED = {"LOG_FORMAT": "json", "PARTNER_API_TRUSTED_PROXIES": "1"}
STRANGER = "stranger"
SLUG = '{ issuer(slug: "%s") { id tradingName } }'
COUNTED = '{ events(first: 0, accountID: "Account|%s") { totalCount } }'
WALKED = '{ events(last: 500, accountID: "Account|%s") { nodes { sequence type at } } }'
ACCOUNTS = """
    INSERT INTO issuers_event (id, partner_id, sequence, type, at, account_id)
    SELECT gen_random_uuid(), '{partner}', n, 'ACCOUNT_STATUS_CHANGED', now(),
        '{account}'
    FROM generate_series(1, {events}) AS n;
    UPDATE issuers_eventhead SET last_sequence = {events}
    WHERE partner_id = '{partner}';
"""


def fill(events: int) -> tuple[list[bytes], bytes]:
    """The partner's costly requests, and the stranger's."""
    from accounts.access import Scope
    from issuers.models import Issuer
    from partnerapi.sandbox.data.approvals import approved_key
    from tests.benchmarks.graphql.rows import add_issuers, analyze
    from tests.graphql.dear import PAGE
    from tests.issuers.events import COUNT_EVENTS
    from tests.marketdata.trading.trading import new_clients, new_partner
    from tests.owner import tamper

    add_issuers(1, ISSUERS)
    partner = new_partner()
    [account] = new_clients(1, partner)
    tamper(
        f"DELETE FROM issuers_event WHERE partner_id = '{partner.pk}'",
        ACCOUNTS.format(partner=partner.pk, account=account.pk, events=events),
        COUNT_EVENTS,
    )
    analyze()
    key = approved_key(partner, list(Scope))[1]
    documents = [PAGE, COUNTED % account.pk, WALKED % account.pk]
    slug = SLUG % Issuer.objects.all()[0].slug
    head = f"X-Token-Auth: {key}\r\nX-Forwarded-For: 192.0.2.1"
    return (
        [request(document, head) for document in documents],
        request(slug, f"X-Request-Id: {STRANGER}\r\nX-Forwarded-For: 192.0.2.2"),
    )


def request(document: str, head: str) -> bytes:
    body = json.dumps({"query": document})
    return (
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
        f"\r\n{head}\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


async def ask(
    port: int, requests: list[bytes], pause: float, until: float
) -> Counter[int]:
    """How often these requests, sent one by one until a time, were answered what."""
    statuses = Counter[int]()
    connection = Connection(port)
    for each in itertools.cycle(requests):
        if time.monotonic() >= until:
            break
        statuses[(await connection.ask(each)).status] += 1
        await asyncio.sleep(pause)
    connection.close()
    return statuses


def asked(
    port: int, dear: list[bytes], cheap: bytes, clients: int, seconds: float
) -> tuple[Counter[int], Counter[int]]:
    """What the partner and the stranger, who asked for so long, were answered."""
    until = time.monotonic() + seconds

    async def both() -> list[Counter[int]]:
        partner = [
            ask(port, [*dear[n % len(dear) :], *dear[: n % len(dear)]], 0, until)
            for n in range(clients)
        ]
        stranger = ask(port, [cheap], PAUSE_SECONDS, until)
        return await asyncio.gather(stranger, *partner)

    stranger, *partner = asyncio.run(both())
    return sum(partner, Counter[int]()), stranger


def waits(log: Path) -> list[float]:
    """How long each of the stranger's requests waited for a connection, ms, sorted."""
    lines = [line for line in log.read_text().splitlines() if STRANGER in line]
    return sorted(json.loads(line)["waitedMs"] for line in lines)


@contextmanager
def web(log: Path, code: Path | None = None, **more: Any) -> Iterator[tuple[int, int]]:
    """A web server of one process, by this code or another; its port, and its pid."""
    before = {child.pid for child in psutil.Process().children()}
    settings = LOGGED | ({"PYTHONPATH": str(code)} if code else {})
    where = {"code": code} if code else {}
    with serving(log, settings, workers=1, **where, **more) as port:
        [master] = [
            child for child in psutil.Process().children() if child.pid not in before
        ]
        [worker] = master.children()
        yield port, worker.pid


def cpu_of(server: tuple[int, int], cheap: bytes, requests: int) -> float:
    """CPU of the web process for each request, ms."""
    port, worker = server

    async def ask() -> None:
        connection = Connection(port)
        for _ in range(requests):
            assert (await connection.ask(cheap)).status == 200
        connection.close()

    began = nanoseconds(worker)
    asyncio.run(ask())
    return (nanoseconds(worker) - began) / requests / 1e6


def compare(
    ours: tuple[int, int], theirs: tuple[int, int], cheap: bytes
) -> tuple[float, float, float]:
    """CPU of a request here and there, ms, and the median of the rounds' ratios."""
    for server in (ours, theirs):
        cpu_of(server, cheap, WARM_UP)
    rounds = [
        [cpu_of(server, cheap, REQUESTS) for server in (ours, theirs)]
        for _ in range(ROUNDS)
    ]
    here, there = (statistics.median(each) for each in zip(*rounds, strict=True))
    return here, there, statistics.median(a / b for a, b in rounds)


def main(pace: Pace) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.turns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--events", type=int, default=EVENTS, help="of the partner")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="of the partner")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--against", metavar="COMMIT")
    options = parser.parse_args()
    wrong = 0
    with (
        throw_away_installation(),
        tempfile.TemporaryDirectory() as made,
        ExitStack() as servers,
    ):
        directory = Path(made)
        dear, cheap = fill(options.events)
        log = directory / "log"
        ours = servers.enter_context(web(log))
        partner, stranger = asked(
            ours[0], dear, cheap, options.clients, options.seconds
        )
        waited = waits(log)
        compared = None
        if options.against:
            (directory / "code").mkdir()
            code = code_of(options.against, directory / "code")
            theirs = servers.enter_context(web(directory / "their log", code))
            compared = compare(ours, theirs, cheap)
    p50, p99 = (waited[int(len(waited) * part)] for part in (0.5, 0.99))
    show = sys.stdout.write
    for name, statuses in (("partner", partner), ("stranger", stranger)):
        wrong += statuses.keys() != {200}
        show(
            f"the {name} was answered {dict(statuses)}, and 503 "
            f"{statuses[503]} times: 0 asked\n"
        )
    wrong += pace.idle(p99) > MOST_WAITED_MS
    show(
        f"the stranger's {len(waited)} requests waited for a connection: p50 {p50:.1f} "
        f"ms, p99 {p99:.1f} ms, longest {waited[-1]:.1f} ms; as on idle cores p99 "
        f"{pace.idle(p99):.1f} ms, at most {MOST_WAITED_MS:g} asked\n"
    )
    if compared:
        here, there, ratio = compared
        wrong += ratio > MOST_CPU
        show(
            f"CPU of a web process for a request of the stranger's: {here:.3f} ms, by "
            f"{options.against} {there:.3f} ms: {ratio:.2f} ×, at most "
            f"{MOST_CPU} asked\n"
        )
    return int(bool(wrong))


if __name__ == "__main__":
    with yardstick() as pace:
        sys.exit(main(pace))

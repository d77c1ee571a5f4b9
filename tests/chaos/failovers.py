"""Repeated mutations while a primary and its synchronous standby are killed.

Run it with `python -m tests.chaos.failovers`; `--scale 0.1` makes a tenth of it. At the
end the standby is away while clients go on, the primary is lost with all that it alone
had, and the standby is promoted. It ends with exit code 1 where a change that was
acknowledged is missing there, happened twice, or is answered in two ways. With
`--control` the server does not hear that a commit is unconfirmed, and exit code 1 says
that no harm came of it.
"""

import argparse
import asyncio
import math
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from urllib.parse import urlencode, urlsplit

import psycopg

from partnerapi.sandbox.run.postgres import PORT
from tests.administration import administrator_of
from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import CLIENTS, Clients, make_chains
from tests.chaos.ending import end
from tests.chaos.findings import Findings, examine
from tests.chaos.installation import Database, Web, breakable_installation
from tests.chaos.standby import on
from tests.chaos.standbys import STANDBY_PORT, Standby, address_of_standby
from tests.chaos.storm import run_clients
from tests.waiting import until

KEYS = 20_000
KEYS_OF_AN_ACCOUNT = 20
COPIES = 2
FAULTS = 20
"""So often the primary is killed, and so often the standby is."""
MAX_SECONDS = 2
LEAST_TOLD = CLIENTS + 8
"""So many answers there are before a standby comes back: of each client one may have
been confirmed by it."""


@dataclass
class Report:
    is_control: bool
    requests: int
    findings: Findings
    repeated: dict[str, int]
    primary_killed: int
    standby_killed: int
    unconfirmed: int
    """Changes that the lost primary had, and the standby had not."""
    seconds: float

    @property
    def wrong(self) -> str:
        if self.is_control:
            return "" if self.findings.broken else "the control did no harm"
        if self.findings.broken:
            return f"not as promised: {self.findings.broken}"
        return "" if self.unconfirmed else "nothing was on the lost primary alone"


def either(url: str) -> str:
    """The address of the one of both servers that takes changes."""
    parts = urlsplit(url)
    [place] = [v for v in parts.query.split("&") if v.startswith("host=")]
    directory = place.removeprefix("host=")
    query = f"host={directory},{directory}&" + urlencode(
        {"port": f"{PORT},{STANDBY_PORT}", "target_session_attrs": "read-write"}
    )
    return parts._replace(netloc=f"{parts.username}@", query=query).geturl()


class Pair:
    """A primary and its standby, which clients ask by one address."""

    def __init__(
        self,
        database: Database,
        standby: Standby,
        clients: Clients,
        is_control: bool,
    ) -> None:
        self.database, self.standby, self.clients = database, standby, clients
        self.is_control = is_control
        self.standby_killed = 0
        self.had: set[tuple[str, str]] = set()
        """What the primary had when it was lost."""
        self.primary_url = os.environ["DATABASE_OWNER_URL"]
        self.standby_url = address_of_standby(self.primary_url)

    def kill_primary(self) -> None:
        self.database.restart(signal.SIGQUIT)

    def stop_standby(self) -> None:
        """Kill it, and let clients find that nothing is acknowledged meanwhile."""
        # What an earlier fault still refuses says nothing of this one.
        answered = self.clients.answered
        until(lambda: self.clients.answered > answered)
        self.standby.kill()
        self.standby_killed += 1
        before = self.told
        until(lambda: self.told - before >= LEAST_TOLD)

    def kill_standby(self) -> None:
        self.stop_standby()
        self.standby.start()

    @property
    def told(self) -> int:
        """How often clients got the outcome of a change without a standby."""
        if self.is_control:
            return self.clients.answered
        return self.clients.repeated["503 UNAVAILABLE"]

    def fail_over(self) -> None:
        """Lose the primary with what it alone has; the standby takes its place."""
        self.stop_standby()
        self.had = made_at(self.primary_url)
        self.database.end(signal.SIGQUIT)
        self.standby.start()
        wait_for_standby(self.standby_url, "")
        on(self.standby_url, "SELECT pg_promote()")


def wait_for_standby(url: str, names: str) -> None:
    """Have commits of a server wait for one of these standbys."""
    with administrator_of(url) as session:
        session.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        session.execute("SELECT pg_reload_conf()")


def made_at(url: str) -> set[tuple[str, str]]:
    """The keys whose mutations a server has committed, and when each was made.

    A change that was lost and made again has another time.
    """
    with psycopg.connect(url) as session:
        rows = session.execute(
            "SELECT key::text, created_at::text FROM partnerapi_idempotencyrecord"
        )
        return {(key, at) for key, at in rows}


def measure(scale: float, workers: int, is_control: bool) -> Report:
    began = time.monotonic()
    with breakable_installation() as (processes, database):
        from tests.chaos.population import make_accounts

        length = KEYS_OF_AN_ACCOUNT
        keys = max(length, round(KEYS * scale))
        chains = make_chains(*make_accounts(keys // length), length)
        standby = Standby(database.directory, processes)
        owner = os.environ["DATABASE_OWNER_URL"]
        wait_for_standby(owner, "*")
        sync = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
        until(lambda: on(owner, sync))
        os.environ["DATABASE_URL"] = either(os.environ["DATABASE_URL"])
        os.environ["PARTNER_API_MAX_SECONDS"] = str(MAX_SECONDS)
        served = "tests.chaos.unaware" if is_control else "partnerapi.wsgi"
        web = Web(processes, workers, served)
        clients = Clients(web.port, chains, COPIES)
        pair = Pair(database, standby, clients, is_control)
        count = math.ceil(FAULTS * scale)
        each = [pair.kill_primary, pair.kill_standby] * count + [pair.fail_over]
        # The last one while every account has changes before it.
        step = clients.total * 3 // (len(each) * 4)
        faults = [(step * n, fault) for n, fault in enumerate(each, 1)]
        asyncio.run(run_clients(clients, faults, "failovers"))
        web.close()
        return Report(
            is_control=is_control,
            requests=clients.total,
            findings=examine(chains),
            repeated=dict(clients.repeated),
            primary_killed=database.restarts + 1,
            standby_killed=pair.standby_killed,
            unconfirmed=len(pair.had - made_at(pair.standby_url)),
            seconds=time.monotonic() - began,
        )


def show(report: Report) -> None:
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name}: {value}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="share of it (1.0)")
    parser.add_argument("--workers", type=int, default=2, help="web workers (2)")
    parser.add_argument("--seed", type=int, default=7, help="of the clients (7)")
    parser.add_argument("--control", action="store_true", help="as if none were lost")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    random.seed(options.seed)
    report = measure(options.scale, options.workers, options.control)
    end(report, options.json, show, report.wrong)


if __name__ == "__main__":
    with yardstick():
        main()

"""A delivery of many legacy lines while its worker is killed, and begun by two people.

Run it with `python -m tests.chaos.deliveries`. Two members of staff are shown the same
lines and confirm them; a worker delivers them, and is ended with SIGKILL again and
again, with all of its processes. Meanwhile the pages of both deliveries are reloaded.
It ends with exit code 1 where a line was not delivered once, or a page said another
number than the ledger had.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg

from partnerapi.sandbox.run.processes import Process, Processes, RunError
from tests.benchmarks.yardstick import yardstick
from tests.chaos.ending import end
from tests.chaos.installation import ROOT, breakable_installation

LINES = 10_000
HOLDERS = 100
KILLS = 3
MOST_SECONDS = 1_800
RELOAD_SECONDS = 0.5
STAFF = ("ana@example.com", "ben@example.com")
NO_SECOND_PERSON = "UPDATE accounts_approvalpolicy SET is_required = FALSE"
TWICE = """
    SELECT count(*) FROM (
        SELECT FROM issuers_ledgertransaction WHERE legacy_shareholder_id IS NOT NULL
        GROUP BY legacy_shareholder_id HAVING count(*) > 1
    ) AS l
"""
ENTERED = """
    SELECT count(*) FROM issuers_ledgertransaction
    WHERE kind = 'LEGACY_DELIVERY' AND actor = %s
"""


@dataclass
class Report:
    """`disagreements`: reloads whose number no ledger of then had."""

    lines: int
    kills: int = 0
    entries: int = 0
    twice: int = 0
    pending: int = 0
    delivered: int = 0
    skipped: int = 0
    refused: int = 0
    reloads: int = 0
    disagreements: int = 0
    breaches: int = 0
    states: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def passed(self) -> bool:
        return (
            self.entries == self.delivered == self.skipped == self.lines
            and not (self.twice or self.pending or self.refused)
            and not (self.disagreements or self.breaches)
            and self.states == ["DONE", "DONE"]
        )


def celery(processes: Processes, role: str, *arguments: str) -> Process:
    return processes.start(
        role,
        [sys.executable, "-m", "celery", "--app=partnerapi", role, *arguments],
        environment=os.environ,
        cwd=ROOT,
    )


def kill(processes: Processes, worker: Process) -> None:
    """End it and its children, at once, so that none finishes what it does."""
    main = psutil.Process(worker.popen.pid)
    for process in [main, *main.children(recursive=True)]:
        process.kill()
    worker.popen.wait()
    processes.running.remove(worker)


def make_lines(count: int) -> str:
    """PENDING lines of a new issuer; its slug."""
    from accounts.people.models import User
    from issuers.legacy.models import LegacyShareholder
    from issuers.models import Issuer, Token

    users = User.objects.bulk_create(
        User(type=User.Type.INDIVIDUAL, first_name="Holder", last_name=str(number))
        for number in range(HOLDERS)
    )
    issuer = Issuer.objects.create(
        trading_name="Many", slug="many", trading_location="Lyon", owner=users[0]
    )
    token = Token.objects.create(issuer=issuer, name="Many", symbol="MANY")
    LegacyShareholder.objects.bulk_create(
        (
            LegacyShareholder(
                issuer=issuer,
                token=token,
                user=users[number % HOLDERS],
                number_of_shares=1 + number % 7,
                price_cents=100,
                reference=f"M-{number}",
            )
            for number in range(count)
        ),
        batch_size=2_000,
    )
    return issuer.slug


def browsers() -> list[Any]:
    """Of two members of staff who may deliver."""
    from django.contrib.auth.models import Permission
    from django.test import Client

    from accounts.people.models import User

    clients = []
    for email in STAFF:
        user = User.objects.create_user(
            email, type=User.Type.INDIVIDUAL, first_name="Staff", is_staff=True
        )
        codes = ["view_legacyshareholder", "change_legacyshareholder"]
        user.user_permissions.set(Permission.objects.filter(codename__in=codes))
        clients.append(Client())
        clients[-1].force_login(user)
    return clients


def begin(slug: str) -> list[tuple[Any, str]]:
    """Show both people the lines before either confirms; return their pages."""
    sent = {"issuer": slug, "source": "MINT"}
    address = "/admin/delivery/confirm/"
    shown = [(client, client.post(address, sent)) for client in browsers()]
    pages = []
    for client, page in shown:
        checksum = page.context["found"].checksum
        answer = client.post(address, sent | {"checksum": checksum})
        if answer.status_code != 302:
            raise RunError(f"a confirmation was answered {answer.status_code}")
        pages.append((client, answer.headers["Location"]))
    return pages


def entered(actor: str) -> int:
    from partnerapi.core.database import fetch

    [(count,)] = fetch(ENTERED, [actor], tuple)
    return int(count)


def reload(pages: list[tuple[Any, str]], report: Report) -> list[Any]:
    """Both pages; what each says lies between the ledgers before and after it."""
    found = []
    for (client, address), actor in zip(pages, STAFF, strict=True):
        before = entered(actor)
        progress = client.get(address).context["progress"]
        after = entered(actor)
        report.reloads += 1
        report.disagreements += not before <= progress.job.delivered <= after
        found.append(progress)
    return found


def reaches(position: int) -> bool:
    """Whether the deliveries come so far before the next reload."""
    from issuers.legacy.models import DeliveryJob

    deadline = time.monotonic() + RELOAD_SECONDS
    while time.monotonic() < deadline:
        positions = DeliveryJob.objects.values_list("position", flat=True)
        if sum(positions) >= position:
            return True
        time.sleep(0.01)
    return False


def deliver(count: int, kills: int, processes: Processes, directory: Path) -> Report:
    from django.test.utils import setup_test_environment

    from issuers.legacy.models import LegacyShareholder
    from issuers.register.verification import verify
    from partnerapi.core.database import fetch

    # So that an answer shows what its page was made of.
    setup_test_environment()
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute(NO_SECOND_PERSON)
    report = Report(count)
    pages = begin(make_lines(count))
    celery(processes, "beat", f"--schedule={directory / 'beat'}")
    worker = celery(processes, "worker", "--concurrency=2")
    deadline = time.monotonic() + MOST_SECONDS
    while True:
        found = reload(pages, report)
        done = sum(progress.job.position for progress in found)
        if report.kills < kills and done >= 2 * count * (report.kills + 1) // (
            kills + 2
        ):
            kill(processes, worker)
            report.kills += 1
            reload(pages, report)
            worker = celery(processes, "worker", "--concurrency=2")
        if all(progress.job.finished_at for progress in found):
            break
        if time.monotonic() > deadline:
            raise RunError(f"the deliveries have not ended: {report}")
    report.states = [progress.state.value for progress in found]
    for name in ("delivered", "skipped", "refused"):
        setattr(report, name, sum(getattr(each.job, name) for each in found))
    report.entries = sum(map(entered, STAFF))
    [(report.twice,)] = fetch(TWICE, [], tuple)
    report.pending = LegacyShareholder.objects.filter(status="PENDING").count()
    report.breaches = sum(1 for finding in verify() if finding.breaches)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.deliveries", description=__doc__
    )
    parser.add_argument("--lines", type=int, default=LINES, help="how many (10,000)")
    parser.add_argument("--kills", type=int, default=KILLS, help="of the worker (3)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        with breakable_installation() as (processes, database):
            report = deliver(
                options.lines, options.kills, processes, database.directory
            )
    except RunError as error:
        sys.exit(str(error))
    report.seconds = round(time.monotonic() - began, 1)
    end(report, options.json, print, "" if report.passed else "not each line once")


if __name__ == "__main__":
    with yardstick():
        main()

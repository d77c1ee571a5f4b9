"""What the API's clients notice while strangers guess passwords of the back office.

Run it with `python -m tests.chaos.login_storm`. One client of a real web server reads
accounts with a key, first alone, then beside eight loops that post wrong passwords of
one member of staff. It ends with exit code 1 where the middle answer takes more than
twice as long beside them, where the eight were answered more often than the client
beside them, where more passwords were looked at than five and one for each further
process, or where a failure is missing from the table or from the log.
"""

import argparse
import http.client
import json
import re
import statistics
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from rich.console import Console

from tests.benchmarks.yardstick import yardstick
from tests.chaos.asking import READ
from tests.chaos.installation import breakable_installation, close_connection
from tests.chaos.web import WORKERS, serving

LOOPS = 8
MOST_RATIO = 2.0
LOCKED_AFTER = 5
EMAIL = "sam@staff.example"


@dataclass
class Report:
    idle_ms: float
    """The middle answer of the API's client when it is alone."""
    beside_ms: float
    beside: tuple[int, int]
    """How often the client, and the loops, were answered in the same time."""
    answers: dict[str, int] = field(default_factory=dict)
    """What the loops were answered."""
    looked_at: int = 0
    """Wrong passwords that were compared with the right one."""
    rows: int = 0
    lines: int = 0
    """Failures that the log tells of, those that were left out counted."""

    @property
    def ratio(self) -> float:
        return self.beside_ms / self.idle_ms


class Guesser(threading.Thread):
    """Posts wrong passwords until it is stopped."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.ended = threading.Event()
        self.answers: Counter[str] = Counter()

    def run(self) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        client.request("GET", "/admin/login/")
        form = client.getresponse()
        cookie = form.headers["Set-Cookie"].partition(";")[0]
        [token] = re.findall(rb'csrfmiddlewaretoken" value="(\w+)"', form.read())
        body = {"csrfmiddlewaretoken": token, "username": EMAIL, "password": "wrong"}
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Cookie": cookie,
        }
        while not self.ended.is_set():
            client.request("POST", "/admin/login/", urlencode(body), headers)
            answer = client.getresponse()
            text = answer.read()
            known = {
                b"<h1>Signing in is locked": "locked out",
                b"correct email": "wrong password",
                b"not checked": f"{answer.status}, not checked",
            }
            [said] = [name for part, name in known.items() if part in text]
            self.answers[said] += 1
        client.close()


def asked(port: int, token: str, seconds: float) -> list[float]:
    """The time of each answer, in milliseconds."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "X-Token-Auth": token}
    took = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        begun = time.monotonic()
        client.request("POST", "/graphql", json.dumps({"query": READ}), headers)
        answer = client.getresponse()
        body = answer.read()
        if answer.status != 200 or b"errors" in body:
            raise RuntimeError(f"{answer.status}: {body!r}")
        took.append((time.monotonic() - begun) * 1000)
    client.close()
    return took


def measure(seconds: float, guesses: int) -> Report:
    with breakable_installation() as (processes, database):
        from accounts.people.models import User
        from partnerapi.staff.authentication.models import FailedSignIn
        from tests.chaos.population import make_accounts

        token, _ = make_accounts(5)
        User.objects.create_user(
            EMAIL, "right", type="INDIVIDUAL", first_name="Sam", is_staff=True
        )
        close_connection()
        log = database.directory / "web.log"
        with serving(log, {"PARTNER_API_MAX_SECONDS": "10"}) as port:
            until_it_answers(port)
            asked(port, token, seconds / 5)
            idle = asked(port, token, seconds)
            guessers = [Guesser(port) for _ in range(LOOPS)]
            for guesser in guessers:
                guesser.start()
            beside = asked(port, token, seconds)
            answers = tally(guessers)
            answered = (len(beside), answers.total())
            while answers["locked out"] + answers["wrong password"] < guesses:
                time.sleep(0.1)
                answers = tally(guessers)
            for guesser in guessers:
                guesser.ended.set()
            for guesser in guessers:
                guesser.join()
            rows = FailedSignIn.objects.count()
            looked_at = FailedSignIn.objects.filter(is_locked=False).count()
            close_connection()
            answers = tally(guessers)
        # The fifth password was checked, and locks the account.
        looked_at += 1 if answers["locked out"] else 0
        return Report(
            statistics.median(idle),
            statistics.median(beside),
            answered,
            dict(answers),
            looked_at,
            rows,
            told(log),
        )


def tally(guessers: list[Guesser]) -> Counter[str]:
    total: Counter[str] = Counter()
    for guesser in guessers:
        total += guesser.answers
    return total


def until_it_answers(port: int) -> None:
    while True:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            client.request("GET", "/schema.graphql")
            if client.getresponse().status == 200:
                return
        except ConnectionError:
            time.sleep(0.1)
        finally:
            client.close()


def told(log: Path) -> int:
    lines = re.findall(r"Sign-in of .*?$", log.read_text(), re.M)
    left_out = (
        re.findall(r"\((\d+) similar messages omitted\)", line) for line in lines
    )
    return len(lines) + sum(int(count) for counts in left_out for count in counts)


def failures(report: Report, busy: bool) -> list[str]:
    """The failures; on a busy machine time does not count."""
    found = []
    failed = report.answers.get("locked out", 0)
    failed += report.answers.get("wrong password", 0)
    if not busy and report.ratio > MOST_RATIO:
        found.append(f"the API is {report.ratio:.1f} times as slow")
    client, loops = report.beside
    if client < loops:
        found.append(f"the client had {client} answers while the loops had {loops}")
    if report.looked_at > LOCKED_AFTER + WORKERS - 1:
        found.append(f"{report.looked_at} passwords were looked at")
    if report.rows != failed:
        found.append(f"{failed} failures are {report.rows} rows")
    # The next line, if any, reports lines left out in the last second.
    if report.lines < failed - 5 * WORKERS:
        found.append(f"{failed} failures, and the log tells of {report.lines}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="alone, and beside")
    parser.add_argument("--guesses", type=int, default=1_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--busy", action="store_true", help="do not judge by time")
    options = parser.parse_args()
    report = measure(options.seconds, options.guesses)
    found = failures(report, options.busy)
    described = asdict(report) | {"ratio": report.ratio, "failures": found}
    if options.json:
        sys.stdout.write(json.dumps(described))
    else:
        Console().print(described)
    sys.exit(bool(found))


if __name__ == "__main__":
    with yardstick():
        main()

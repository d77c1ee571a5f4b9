"""What a streaming standby answers beside the primary, and in its place.

Run it with `python -m tests.chaos.standby`. It tries one claim after the other on real
servers: which server a table is read on, that nothing is missed while the standby lags,
what is answered and refused while the primary stands still, is killed and comes back,
how long keys are believed, and that a promotion disturbs no reader. It ends with exit
code 1 where one does not hold.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import uuid4

import psutil

from tests.administration import administrator_of
from tests.benchmarks.yardstick import yardstick
from tests.chaos.clients import CHANGE
from tests.chaos.ending import end
from tests.chaos.installation import (
    breakable_installation,
    close_connection,
)
from tests.chaos.standbys import address_of_standby, start_standby
from tests.chaos.web import serving
from tests.system import limited
from tests.waiting import until

TABLE = (
    "query ($id: ID!, $date: Time) { issuer(id: $id) { capitalizationTable(date: $date)"
    " { date holderCount tokens { totalBalancesSupply } } } }"
)
CHECK = (
    "query ($input: PlaceOrderInput!) { checkOrder(input: $input) { allowed code } }"
)
VIEWER = "{ viewer { login settledAt } }"
PUBLIC = "{ issuers(first: 1) { totalCount } }"
SERVED = """
    SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%register_note(%%'
    AND application_name LIKE 'web@%' AND pid <> pg_backend_pid()
"""


@dataclass
class Answer:
    code: str
    data: Any
    seconds: float


@dataclass
class Report:
    """Each claim, and the observation if it does not hold."""

    claims: dict[str, str] = field(default_factory=dict)
    outage: dict[str, int] = field(default_factory=dict)
    """Answers to a reader while the primary was killed, restarted and replaced."""

    def claim(self, text: str, holds: bool, seen: object = "") -> None:
        self.claims[text] = "" if holds else f"not so: {seen}"

    @property
    def broken(self) -> list[str]:
        return [f"{text}: {seen}" for text, seen in self.claims.items() if seen]


class Partner:
    """Asks a web server, with a key or without."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def ask(self, query: str, keyed: bool = True, **variables: Any) -> Answer:
        headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid4())}
        if keyed:
            headers["X-Token-Auth"] = self.token
        body = json.dumps({"query": query, "variables": variables})
        status, answer, seconds = self.send("POST", "/graphql", body, headers)
        codes = [error["extensions"]["code"] for error in answer.get("errors", [])]
        return Answer(" ".join([str(status), *codes]), answer.get("data"), seconds)

    def send(
        self, method: str, path: str, body: str = "", headers: Any = None
    ) -> tuple[int, Any, float]:
        begun = time.monotonic()
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(client):
            client.request(method, path, body, headers or {})
            response = client.getresponse()
            answer = json.loads(response.read())
        return response.status, answer, time.monotonic() - begun

    def table(self, issuer: str, date: str | None = None) -> Answer:
        answer = self.ask(TABLE, id=f"Issuer|{issuer}", date=date)
        if answer.code == "200":
            answer.data = answer.data["issuer"]["capitalizationTable"]
        return answer

    def table_if_answered(self, issuer: str) -> Any:
        answer = self.table(issuer)
        return answer.data if answer.code == "200" else None

    def told(self, issuer: str) -> datetime:
        """The date of the present table."""
        return datetime.fromisoformat(self.table(issuer).data["date"])

    def supply(self, issuer: str, date: str | None = None) -> int:
        answer = self.table(issuer, date)
        assert answer.code == "200", answer
        return sum(token["totalBalancesSupply"] for token in answer.data["tokens"])


class Register:
    """An issuer with a token, to which units are added on the primary."""

    def __init__(self, partner: Any) -> None:
        from issuers.models import Token
        from issuers.register import ledger
        from partnerapi.sandbox.data.approvals import approved_grant
        from tests.issuers.register import new_issuer, people
        from tests.marketdata.trading.trading import new_market

        self.market = new_market()
        issuer = new_issuer()
        self.issuer = str(issuer.pk)
        self.token = Token.objects.create(issuer=issuer, name="Unit", symbol="U")
        approved_grant(partner, issuer)
        [user] = people(1)
        [self.account] = ledger.holder_accounts([user.pk]).values()
        self.mint(100)

    def mint(self, units: int) -> datetime:
        """When they were added, by the database's clock."""
        from issuers.register.ledger import Entry
        from tests.approved import approved_record

        entry = Entry(self.token.pk, "MINT", units, None, self.account)
        [made] = approved_record([entry], "me")
        at: datetime = made.effective_at
        return at


class Reader:
    """Reads without a pause; every answer is counted."""

    def __init__(self, partner: Partner, issuer: str, date: str) -> None:
        self.partner, self.issuer, self.date = partner, issuer, date
        self.codes = Counter[str]()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.ended.is_set():
            self.codes[self.partner.table(self.issuer, self.date).code] += 1
            self.codes[self.partner.ask(VIEWER).code] += 1

    def __enter__(self) -> "Reader":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def on(url: str, statement: str) -> Any:
    """What an administrator of a server is answered."""
    with administrator_of(url) as session:
        found = session.execute(statement).fetchone()
        return found and found[0]


def replayed(primary: str, standby: str) -> bool:
    written = on(primary, "SELECT pg_current_wal_lsn()")
    return bool(on(standby, f"SELECT pg_last_wal_replay_lsn() >= '{written}'"))


def beside_the_primary(
    report: Report, partner: Partner, register: Register, urls: tuple[str, str]
) -> None:
    primary, standby = urls
    begun = register.mint(1).isoformat()

    def is_read_there() -> bool:
        return partner.supply(register.issuer, begun) == 101 and on(standby, SERVED) > 0

    until(is_read_there)
    report.claim("a table of the past is read on the standby", True)
    on(standby, "SELECT pg_wal_replay_pause()")
    at = register.mint(1)
    dates = (at.isoformat(), None)
    seen = [partner.supply(register.issuer, date) for date in dates]
    report.claim("what has not come there yet is not missed", seen == [102, 102], seen)
    other = revoke_another_key(partner.token)
    code = Partner(partner.port, other).ask(VIEWER).code
    report.claim("a key that was revoked is refused", code.startswith("401"), code)
    on(standby, "SELECT pg_wal_replay_resume()")
    until(lambda: replayed(primary, standby))
    says = of_database(address_of_standby(os.environ["DATABASE_URL"]))
    named = "a standby, which is read-only" in says
    report.claim("doctor names a DATABASE_URL that is a standby's", named, says)


def order_of(account: Any, market: Any) -> dict[str, Any]:
    return {
        "accountID": f"Account|{account}",
        "tokenID": f"Token|{market.pk}",
        "side": "BUY",
        "quantity": 1,
        "limitPrice": 100,
        "timeInForce": "GTC",
    }


def of_database(url: str) -> str:
    """What `doctor` says of the database of a DATABASE_URL."""
    ended = subprocess.run(
        [sys.executable, "manage.py", "doctor", "--json"],
        env=os.environ | {"DATABASE_URL": url},
        stdout=subprocess.PIPE,
        check=False,
    )
    checks = json.loads(ended.stdout)["checks"]
    [says] = [each["says"] for each in checks if each["check"] == "database"]
    return str(says)


def revoke_another_key(token: str) -> str:
    """The token of a key that the standby takes for a live one."""
    from django.utils import timezone

    from accounts.access import Scope
    from accounts.keys.models import Partner
    from partnerapi.sandbox.data.approvals import approved_key

    login = token.removeprefix("service-apikey_").rpartition("_")[0]
    key, made = approved_key(Partner.objects.get(login=login), list(Scope))
    key.revoke(timezone.now())
    close_connection()
    return made


def in_place_of_the_primary(
    report: Report, partners: list[Partner], parts: dict[str, Any]
) -> None:
    partner, impatient = partners
    register, database = parts["register"], parts["database"]
    primary, standby = parts["urls"]
    values = {"accountID": f"Account|{parts['account']}", "status": "ACTIVE"}
    last = register.mint(1)
    until(lambda: replayed(primary, standby))
    with Reader(partner, register.issuer, last.isoformat()) as reader:
        database.end(signal.SIGQUIT)
        until(lambda: not on(standby, "SELECT count(*) FROM pg_stat_wal_receiver"))
        committed = on(standby, "SELECT pg_last_xact_replay_timestamp()")
        until(lambda: partner.told(register.issuer) == committed)
        supply = partner.supply(register.issuer)
        report.claim("a table is of the last commit replayed", supply == 110, supply)
        viewer = partner.ask(VIEWER).data["viewer"]["settledAt"]
        settled = datetime.fromisoformat(viewer)
        report.claim("up to there all is settled", settled == committed, settled)
        code = partner.ask(CHANGE, input=values).code
        report.claim("a mutation is refused", code == "503 UNAVAILABLE", code)
        checked = partner.ask(CHECK, input=order_of(parts["account"], register.market))
        said = checked.data and checked.data["checkOrder"]["code"]
        report.claim(
            "a dry run of an order is answered", said == "ACCOUNT_NOT_ACTIVE", checked
        )
        until(lambda: partner.send("GET", "/readyz")[0] == 200)
        report.claim("the server is ready", True)
        until(lambda: impatient.ask(VIEWER).code == "503 UNAVAILABLE")
        code = impatient.ask(PUBLIC, keyed=False).code
        report.claim("keys are believed for a time, not more", code == "200", code)
        database.start()
        until(lambda: partner.ask(CHANGE, input=values).code == "200")
        report.claim("the primary is asked again when it is back", True)
        until(lambda: replayed(primary, standby))
        database.end(signal.SIGQUIT)
        on(standby, "SELECT pg_promote()")
        until(lambda: not on(standby, "SELECT pg_is_in_recovery()"))
        code = partner.table(register.issuer).code
        report.claim("a promotion disturbs no one", code == "200", code)
    report.outage = dict(reader.codes)
    report.claim("a reader was always answered", set(reader.codes) == {"200"})


def while_the_primary_stands_still(
    report: Report, partner: Partner, parts: dict[str, Any]
) -> None:
    """A writer has taken its time: whether it will commit, no one can know."""
    from django.db import transaction

    from partnerapi.core.database import execute

    register, (primary, standby) = parts["register"], parts["urls"]
    values = {"accountID": f"Account|{parts['account']}", "status": "SUSPENDED"}
    server = psutil.Process(parts["database"].server.popen.pid)
    with transaction.atomic():
        # It is idle for as long as the server stands still.
        execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        register.mint(7)
        # So the last commit that the standby has is later than that.
        assert partner.ask(CHANGE, input=values).code == "200"
        until(lambda: replayed(primary, standby))
        # First the one that would make more of them.
        server.suspend()
        sessions = server.children()
        for session in sessions:
            session.suspend()
        table = until(lambda: partner.table_if_answered(register.issuer))
        # The server last: until it runs, no process that ended is gone, and none of
        # these numbers belongs to another.
        for process in (*sessions, server):
            process.resume()
    close_connection()
    until(lambda: partner.supply(register.issuer) == 109)
    again = partner.table(register.issuer, table["date"]).data
    report.claim(
        "a table shown in a standstill is shown again", again == table, [table, again]
    )


def measure() -> Report:
    report = Report()
    with breakable_installation() as (processes, database):
        from accounts.keys.models import Partner as PartnerModel
        from tests.chaos.population import make_accounts

        token, [account] = make_accounts(1)
        register = Register(PartnerModel.objects.get())
        close_connection()
        log = database.directory / "web.log"
        owner = os.environ["DATABASE_OWNER_URL"]
        environment = {
            "REPLICA_URL": start_standby(database.directory, processes),
            "PARTNER_API_MAX_SECONDS": "3",
        }
        short = environment | limited(PARTNER_API_REPLICA_SECONDS=1)
        with (
            serving(log, environment) as port,
            serving(database.directory / "impatient.log", short) as impatient,
        ):
            partners = [Partner(port, token), Partner(impatient, token)]
            parts = {
                "register": register,
                "database": database,
                "account": account,
                "urls": (owner, address_of_standby(owner)),
            }
            beside_the_primary(report, partners[0], register, parts["urls"])
            while_the_primary_stands_still(report, partners[0], parts)
            in_place_of_the_primary(report, partners, parts)
    return report


def show(report: Report) -> None:
    for text, seen in report.claims.items():
        sys.stdout.write(f"{text}: {seen or 'yes'}\n")
    sys.stdout.write(f"answers meanwhile: {report.outage}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = measure()
    end(report, options.json, show, "\n".join(report.broken))


if __name__ == "__main__":
    with yardstick():
        main()

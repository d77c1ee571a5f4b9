"""Many clients through pgbouncer in transaction mode, on few sessions of PostgreSQL.

Run it with `python -m tests.chaos.pooled`; `--requests 600` is a short form. Two
hundred clients of a real web server read accounts and change one of their own, by
turns, over six sessions. Then one mutation waits for an account, and for its key, that
someone holds. It ends with exit code 1 where an answer is no 200, where a mutation
happened twice or not at all, or where who waited is refused otherwise than without a
pooler.
"""

import argparse
import asyncio
import io
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from uuid import UUID, uuid4

import psycopg

from tests.benchmarks.yardstick import yardstick
from tests.chaos.asking import READ
from tests.chaos.clients import CHANGE, STATUSES, Answer, Connection
from tests.chaos.ending import end
from tests.chaos.installation import (
    breakable_installation,
    close_connection,
)
from tests.chaos.poolers import start_pooler
from tests.chaos.web import serving
from tests.system import limited

CLIENTS = 200
SESSIONS = 6
REQUESTS = 10_000
WAITED = ["200 TIMEOUT", "409 IDEMPOTENCY_CONCURRENT_REQUEST"]
"""Both waits end with lock_timeout."""
HOLD_ACCOUNT = "SELECT FROM accounts_account WHERE id = %s FOR UPDATE"
HOLD_KEY = """
    INSERT INTO partnerapi_idempotencyrecord
        (partner_id, key, fingerprint, scopes, created_at)
    SELECT id, %s, '', '{}', now() FROM accounts_partner
"""
CHANGED = "SELECT count(*) FROM accounts_accountstatuschange WHERE reason = %s"
CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s"


@dataclass
class Report:
    """`waited`: what a mutation was answered that waited for others."""

    codes: dict[str, int]
    changes: int
    happened: int
    seconds: float
    sessions: int
    waited: list[str]

    def wrong(self) -> Iterator[str]:
        if self.codes.keys() != {"200"}:
            yield f"some answers were no 200: {self.codes}"
        if self.changes != self.happened:
            yield f"{self.changes} mutations were answered, {self.happened} happened"
        if self.sessions > SESSIONS:
            yield f"{self.sessions} sessions were open, and {SESSIONS} are allowed"
        if self.waited != WAITED:
            yield f"who waited was answered {self.waited}, and not {WAITED}"


def request_of(token: str, body: dict[str, object], key: str = "") -> bytes:
    text = json.dumps(body)
    head = (
        "POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json"
        f"\r\nX-Token-Auth: {token}\r\nIdempotency-Key: {key or uuid4()}\r\n"
        f"Content-Length: {len(text)}\r\n\r\n"
    )
    return (head + text).encode()


def change(token: str, account: UUID, status: str, reason: str, key: str = "") -> bytes:
    values = {"accountID": f"Account|{account}", "status": status, "reason": reason}
    return request_of(token, {"query": CHANGE, "variables": {"input": values}}, key)


def code_of(answer: Answer) -> str:
    errors = json.loads(answer.body).get("errors", [])
    return " ".join([str(answer.status), *(e["extensions"]["code"] for e in errors)])


async def storm(
    port: int, token: str, accounts: list[UUID], requests: int, reason: str
) -> tuple[Counter[str], int]:
    """The answers, and the number of mutations sent."""
    codes = Counter[str]()
    turns = requests // len(accounts)

    async def client(account: UUID) -> None:
        connection = Connection(port)
        for turn in range(turns):
            if turn % 2:
                status = STATUSES[turn // 2 % 2]
                asked = change(token, account, status, reason)
            else:
                asked = request_of(token, {"query": READ})
            codes[code_of(await connection.ask(asked))] += 1
        connection.close()

    async with asyncio.TaskGroup() as group:
        for account in accounts:
            group.create_task(client(account))
    return codes, turns // 2 * len(accounts)


async def wait_for_others(port: int, token: str, account: UUID) -> list[str]:
    """What a mutation is answered while someone holds its account, then its key."""
    key = str(uuid4())
    asked = change(token, account, "SUSPENDED", "held", key)
    codes = []
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as holder:
        for held, name in ((HOLD_ACCOUNT, str(account)), (HOLD_KEY, key)):
            holder.execute(held, [name])
            codes.append(code_of(await Connection(port).ask(asked)))
            holder.rollback()
    return codes


def grant() -> None:
    """Give the role the limits of a session, which the pooler's sessions take over."""
    from django.core.management import call_command
    from django.test import override_settings

    role = "partnerapi_application"
    with override_settings(IS_POOLED=True):
        call_command("grant_application_role", role, "--apply", stdout=io.StringIO())
    close_connection()


def measure(requests: int) -> Report:
    with breakable_installation() as (processes, database):
        from tests.chaos.population import make_accounts

        token, accounts = make_accounts(min(CLIENTS, requests // 3))
        log = database.directory / "web.log"
        grant()
        pooled = {
            "DATABASE_URL": start_pooler(database.directory, processes, SESSIONS),
            "DATABASE_DIRECT_URL": os.environ["DATABASE_URL"],
            "PARTNER_API_DATABASE_CONNECTIONS": "16",
            **limited(PARTNER_API_CONNECTIONS_PER_ADDRESS=1_000),
        }
        reason = str(uuid4())
        with serving(log, pooled) as port:
            begun = time.monotonic()
            codes, changes = asyncio.run(storm(port, token, accounts, requests, reason))
            seconds = time.monotonic() - begun
            with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as session:
                [happened] = session.execute(CHANGED, [reason]).fetchone() or [0]
                role = ["partnerapi_application"]
                [sessions] = session.execute(CONNECTED, role).fetchone() or [0]
            waited = asyncio.run(wait_for_others(port, token, accounts[0]))
    return Report(dict(codes), changes, happened, seconds, sessions, waited)


def show(report: Report) -> None:
    for name, value in asdict(report).items():
        sys.stdout.write(f"{name}: {value}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    report = measure(options.requests)
    end(report, options.json, show, "\n".join(report.wrong()))


if __name__ == "__main__":
    with yardstick():
        main()

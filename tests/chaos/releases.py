"""The code of releases: taken from the history, given rows, and run.

Its migrations identify a release. Its code is the commit before the first later
migration: so the history is needed, and no tag.
"""

import io
import json
import os
import subprocess
import sys
import tarfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg

from partnerapi.sandbox.run.processes import RunError
from tests.chaos import web
from tests.chaos.asking import Answer
from tests.chaos.installation import ROOT

THREADS = 8
THREADED = ("--preload", "--worker-class", "gthread", "--threads", str(THREADS))
ROOM = {"PARTNER_API_DATABASE_CONNECTIONS": str(2 * THREADS)}
"""So that a client waits for what holds the tables, and for no other client: one that
was cut off keeps its connection until its statement is cancelled."""
PATIENCE = {"PARTNER_API_MAX_SECONDS": "50"}
"""So that no request is given up because others have the processor."""
PARTNERS = 10
"""Each has an account of every holder, and holders are a tenth of the rows."""
MOST_JOB_RUNS = 300_000
"""Of 90 days."""


def git(*arguments: str) -> bytes:
    ended = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, check=False
    )
    if ended.returncode:
        raise RunError(f"git {arguments[0]}: {ended.stderr.decode().strip()}")
    return ended.stdout


def code_before(names: list[tuple[str, str]], directory: Path) -> Path:
    """The code of the release before some migrations, written into a directory.

    Raises:
        RunError: the history is not here.
    """
    paths = [f"{app}/migrations/{name}.py" for app, name in names]
    history = ["log", "--first-parent", "-m", "--diff-filter=A", "--format=%H"]
    added = git(*history, "HEAD", "--", *paths).decode().split()
    if not added:
        raise RunError("the history of these migrations is not here; fetch all of it")
    return code_of(f"{added[-1]}^1", directory)


def code_of(commit: str, directory: Path) -> Path:
    """The code of a commit, written into a directory."""
    archive = git("archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(directory, filter="data")
    return directory


def environment(code: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(code)}


def run(code: Path, *arguments: str) -> str:
    """What a Python program prints that runs by the code of a release."""
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=code,
        env=environment(code),
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise RunError(ended.stdout + ended.stderr)
    return ended.stdout


def grant(code: Path, *options: str) -> None:
    """Give the application the rights that this release wants."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        role = session.info.user
    run(code, "manage.py", "grant_application_role", role, "--apply", *options)


def serving(code: Path, log: Path, busy: bool) -> AbstractContextManager[int]:
    """A web server of a release, with patience on a busy machine; its port."""
    environment = {"PYTHONPATH": str(code)} | ROOM | (PATIENCE if busy else {})
    return web.serving(log, environment, code, THREADED)


class Writer:
    """While it is a context, a process of a release runs a program that writes."""

    def __init__(self, code: Path, program: str, given: list[Any], log: Path) -> None:
        self.log = log
        self.read = 0
        self.known: list[Answer] = []
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, *map(str, given)],
                cwd=code,
                env=environment(code),
                stdout=output,
            )

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def answers(self) -> list[Answer]:
        """What became of each entry, or of each order.

        Raises:
            RunError: it has ended.
        """
        if self.process.poll() is not None:
            raise RunError(f"the writer of {self.log} has ended; see standard error")
        with self.log.open() as log:
            log.seek(self.read)
            whole, end, _ = log.read().rpartition("\n")
        self.read += len(whole) + len(end)
        self.known += [Answer(*json.loads(line)) for line in whole.splitlines()]
        return self.known

    def gone_on(self, since: float) -> bool:
        """Whether it has written something since, from the beginning."""
        return any(answer.at >= since for answer in self.answers()[-2:])


WRITES = """
import json
import sys
from time import monotonic, sleep

import django

django.setup()
from uuid import UUID

from django.db import Error

def write_on(once):
    while True:
        begun, said = monotonic(), "200"
        try:
            once()
        except Error as error:
            said = str(error)
        print(json.dumps([begun, monotonic() - begun, said]), flush=True)
        sleep(0.1)
"""
ENTRIES = (
    WRITES
    + """
from issuers.register import ledger

token, *accounts = UUID(sys.argv[1]), *map(int, sys.argv[2:])

def once():
    accounts.reverse()
    ledger.record([ledger.Entry(token, "TRANSFER", 1, *accounts)], "me")

write_on(once)
"""
)
"""Units from one account to the other, and back."""
ORDERS = (
    WRITES
    + """
import inspect
from random import Random

from marketdata.trading import market

token, login = UUID(sys.argv[1]), sys.argv[2]
clients = [*map(UUID, sys.argv[3:])]
dice = Random(1)
# A request names its actor since the release that writes by functions.
named = "actor" in inspect.signature(market.Request).parameters

def once():
    orders = [
        market.Request(
            dice.choice(clients), dice.randrange(2), dice.randint(1, 9),
            dice.randint(95, 105), time_in_force="GTC",
            **({"actor": login} if named else {}),
        )
        for _ in range(3)
    ]
    market.place_each(token, orders, *([] if named else [login]))

write_on(once)
"""
)
"""Three orders at a time, of which many trade."""


def populate(code: Path, accounts: int, rows: int) -> dict[str, Any]:
    """Write so many rows into each table that grows, by functions of the release.

    Of its partner the answer has the `token` and the ids of `accounts`, for clients;
    the ids of `issuers`; of a `ledger` its token and two accounts with units; and of a
    `market` its token, and accounts with cash and units after their partner's login.
    """
    said = run(code, "-c", POPULATE, str(accounts), str(rows))
    found: dict[str, Any] = json.loads(said.splitlines()[-1])
    run(code, "manage.py", "import_industry_classification")
    url = os.environ["DATABASE_OWNER_URL"]
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("SET session_replication_role = replica")
        for statement in ROWS:
            session.execute(statement, {"rows": rows, "job_runs": MOST_JOB_RUNS})
        for table, statement in DERIVED.items():
            if session.execute("SELECT to_regclass(%s)", [table]).fetchone() != (None,):
                session.execute(statement, {"rows": rows})
        session.execute("VACUUM ANALYZE")
    said = run(code, "-c", MARKET)
    return found | {"market": json.loads(said.splitlines()[-1])}


POPULATE = f"""
import json
import sys

import django

django.setup()
from django.apps import apps
from issuers.models import IssuerGrant
from rich.console import Console

from tests.benchmarks.large_registers import load
from tests.chaos.population import make_accounts

Partner = apps.get_model("accounts", "Partner")
accounts, rows = map(int, sys.argv[1:])
token, ids = make_accounts(accounts)
IssuerGrant.objects.create(partner=Partner.objects.get(), issuer=None)
for number in range({PARTNERS}):
    Partner.objects.create(login=f"partner{{number}}", name=f"Partner {{number}}")
tokens = load(max(rows // {PARTNERS}, 20), max(rows // 2, 1000), Console(stderr=True))
[smallest, *_] = sorted(tokens, key=lambda name: (len(name), name))
print(json.dumps({{
    "token": token,
    "accounts": [str(one) for one in ids],
    "issuers": [str(one.issuer_id) for one in tokens.values()],
    "ledger": [str(tokens[smallest].pk), 1, 2],
}}))
"""
MARKET = """
import json

import django

django.setup()
from tests.marketdata.trading.trading import deposit, give, new_clients, new_market

token, clients = new_market(100), new_clients(8)
for client in clients:
    deposit(client, 10**12)
give(token, dict.fromkeys(clients, 10**9))
login = clients[0].partner.login
print(json.dumps([str(token.pk), login, *(str(client.pk) for client in clients)]))
"""
ROWS = (
    """
    INSERT INTO issuers_issuer
    SELECT (jsonb_populate_record(i, jsonb_build_object(
        'id', gen_random_uuid(), 'slug', 'issuer-' || n, 'trading_name', 'Issuer ' || n,
        'industry_classification_benchmark_id', (
            SELECT id FROM issuers_industryclassificationbenchmark LIMIT 1)))).*
    FROM issuers_issuer i CROSS JOIN generate_series(1, %(rows)s / 1000) n
    WHERE i.slug = 'large'
    """,
    """
    INSERT INTO accounts_account
        (id, partner_id, user_id, status, changes, created_at, updated_at)
    SELECT gen_random_uuid(), p.id, u.id, 'PENDING', 1, now(), now()
    FROM accounts_partner p CROSS JOIN accounts_user u
    WHERE p.login LIKE 'partner%%' AND u.first_name = 'Holder'
    """,
    """
    INSERT INTO accounts_accountstatuschange
        (id, account_id, number, status, actor, is_staff, approved_by, created_at)
    SELECT gen_random_uuid(), id, 1, 'PENDING', 'staff', TRUE, '', now()
    FROM accounts_account WHERE changes = 1
    """,
    """
    INSERT INTO issuers_legacyshareholder
        (id, issuer_id, user_id, status, number_of_shares, price_cents)
    SELECT gen_random_uuid(), i.id, u.id, 'PENDING', 1, 1
    FROM accounts_user u CROSS JOIN generate_series(1, 10)
    CROSS JOIN (SELECT issuer_id AS id FROM issuers_token ORDER BY symbol LIMIT 1) i
    WHERE u.first_name = 'Holder'
    """,
    """
    INSERT INTO marketdata_trade (token_id, sequence, price_cents, quantity, at)
    SELECT t.id, n, 100 + n %% 50, 1, '2025-01-01Z'::timestamptz + n * interval '20 s'
    FROM issuers_token t CROSS JOIN generate_series(1, %(rows)s / 4) n
    """,
    """
    INSERT INTO marketdata_orderbookhead
        (token_id, last_sequence, last_trade, last_snapshot)
    SELECT id, 0, %(rows)s / 4, 0 FROM issuers_token
    """,
    """
    INSERT INTO partnerapi_idempotencyrecord
        (partner_id, key, fingerprint, body, created_at, expires_at)
    SELECT p.id, gen_random_uuid(), '\\x00', '{}', now(), now() + interval '1 day'
    FROM accounts_partner p CROSS JOIN generate_series(1, %(rows)s / 10)
    WHERE p.login LIKE 'partner%%'
    """,
    """
    INSERT INTO partnerapi_jobrun (job, started_at, seconds, result, detail)
    SELECT 'prune_exports', now() - n * interval '20 s', 1, 'DONE', ''
    FROM generate_series(1, least(%(rows)s, %(job_runs)s)) n
    """,
)
DERIVED = {
    "issuers_event": """
        INSERT INTO issuers_event (id, partner_id, sequence, type, at)
        SELECT gen_random_uuid(), p.id, n, 'KEY_CHANGED', now()
        FROM accounts_partner p CROSS JOIN generate_series(2, %(rows)s / 10) n
        WHERE p.login LIKE 'partner%%'
    """,
    "marketdata_tradingday": """
        INSERT INTO marketdata_tradingday
            (token_id, day, open_cents, high_cents, low_cents, close_cents,
             volume, value_cents, trades, first_trade, last_trade)
        SELECT token_id, (at AT TIME ZONE market_time_zone())::date AS day,
            (array_agg(price_cents ORDER BY sequence))[1],
            max(price_cents), min(price_cents),
            (array_agg(price_cents ORDER BY sequence DESC))[1],
            sum(quantity), sum(price_cents::numeric * quantity), count(*),
            min(sequence), max(sequence)
        FROM marketdata_trade GROUP BY token_id, day
    """,
}
"""What triggers write from other rows, in a release that has it, by table."""

"""What clients are answered while the migrations of a release are applied.

Run it with `python -m tests.chaos.migrations --rows 2000000`. The tables that grow get
so many rows each. The release before serves eighty requests a second, reading and
changing, and two of its processes write entries of a ledger and place orders, while the
migrations of the next release are applied, one after the other; then the new release
serves and writes, too; then the migrations are taken back. The same follows for the
release after it, which takes away what only the first one needed. It ends with exit
code 1 where a request failed or took more than two seconds as on idle cores, or where a
total of a list is then not the number of its rows, or a row lacks what follows from it.
"""

import argparse
import http.client
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import psycopg
from rich.console import Console
from rich.table import Table

from partnerapi.management.commands.migrate import Command as Migrate
from partnerapi.sandbox.run.processes import RunError
from tests.benchmarks.yardstick import Pace, yardstick
from tests.chaos.asking import READ, Answer, Asking, post
from tests.chaos.clients import CHANGE
from tests.chaos.installation import ROOT, breakable_installation, close_connection
from tests.chaos.releases import (
    ENTRIES,
    ORDERS,
    Writer,
    code_before,
    grant,
    populate,
    serving,
)
from tests.waiting import until

CLIENTS = 20
LOOK_SECONDS = 0.1
MOST_SECONDS = 2.0
BEFORE = {
    "accounts": "0025",
    "issuers": "0043",
    "marketdata": "0013",
    "partnerapi": "0010",
    "trading": "0006",
}
"""The last migrations of the release before; all others follow."""
LATER = {
    "accounts": "0053",
    "issuers": "0068",
    "marketdata": "0022",
    "partnerapi": "0025",
    "trading": "0016",
}
"""The first migrations that are applied only when the release before has ended: until
then it writes by itself what functions alone write from here on."""
LAST = {"partnerapi": "0039"}
"""The first migrations that are applied only when the release between has ended: until
then it writes accounts, keys, deliveries and exports by itself."""
TRANSFERS_ALONE = """
    UPDATE accounts_approvalpolicy SET is_required = FALSE WHERE kind = 'TRANSFER'
"""
ISSUERS = "{ issuers(first: 10) { nodes { tradingName tokens { nodes { symbol } } } } }"
SHAREHOLDERS = """query ($id: ID!) { issuer(id: $id) {
    legacyShareholders(first: 10) { nodes { id numberOfShares } } } }"""
TABLE = """query ($id: ID!) { issuer(id: $id) { capitalizationTable {
    totalValue tokens { tokenID totalSupplyValue } } } }"""

KEEP = "--keep-release-before"

Name = tuple[str, str]
"""App and name of a migration."""
KINDS = 5
"""Of requests that clients send."""


@dataclass
class Outcome:
    """What became of the requests, and of entries and orders, of a time."""

    what: str
    seconds: float
    codes: dict[str, int] = field(default_factory=dict)
    slowest: float = 0.0
    held: float = 0.0
    """The longest that a session of the application was seen to wait for a lock."""
    entries: dict[str, int] = field(default_factory=dict)
    slowest_entry: float = 0.0


class LockWatch(Asking):
    """While it is a context, records how long the application waits for locks.

    On a busy machine answers are slow for other reasons, too.
    """

    def __init__(self) -> None:
        self.waits: list[tuple[float, float]] = []
        """When each was seen, and how long it had lasted by then."""
        super().__init__([self.look])

    def look(self) -> None:
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as session:
            role = session.info.user
        owner = os.environ["DATABASE_OWNER_URL"]
        with psycopg.connect(owner, autocommit=True) as session:
            while not self.ended.wait(LOOK_SECONDS):
                row = session.execute(WAITS, [role]).fetchone()
                if row and row[0]:
                    self.waits.append((time.monotonic(), float(row[0])))

    def longest(self, since: float) -> float:
        return max((wait for at, wait in self.waits if at >= since), default=0.0)


WAITS = """
    SELECT max(extract(epoch FROM clock_timestamp() - l.waitstart))
    FROM pg_locks l JOIN pg_stat_activity a USING (pid)
    WHERE NOT l.granted AND a.usename = %s
"""


class Clients(Asking):
    """Ask a web server so many times a second, all together."""

    def __init__(self, port: int, world: dict[str, Any], per_second: float) -> None:
        self.port, self.world, self.per_second = port, world, per_second
        self.answers: list[Answer] = []
        # When the last request of each kind that was answered began.
        self.begun: dict[int, float] = {}
        super().__init__(partial(self.ask, n) for n in range(CLIENTS))

    def gone_on(self, since: float) -> bool:
        """Whether a request of each kind was sent and answered since."""
        begun = [*self.begun.values()]
        return len(begun) == KINDS and min(begun) >= since

    def ask(self, number: int) -> None:
        issuers = self.world["issuers"]
        period = CLIENTS / self.per_second
        begun = time.monotonic() + period * number / CLIENTS
        for turn in count(1):
            if self.ended.wait(max(0.0, begun + period * turn - time.monotonic())):
                return
            body: dict[str, Any]
            # So that few requests, too, are of all kinds.
            match kind := (turn + number) % KINDS:
                case 0:
                    body = self.change(number, turn)
                case 1:
                    body = {"query": READ}
                case 2:
                    body = {"query": ISSUERS}
                case 3:
                    issuer = f"Issuer|{issuers[number % len(issuers)]}"
                    body = {"query": SHAREHOLDERS, "variables": {"id": issuer}}
                case _:
                    issuer = f"Issuer|{issuers[number % len(issuers)]}"
                    body = {"query": TABLE, "variables": {"id": issuer}}
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            answer = post(client, self.world["token"], body)
            self.answers.append(answer)
            self.begun[kind] = max(answer.at, self.begun.get(kind, 0.0))

    def change(self, number: int, turn: int) -> dict[str, Any]:
        status = ("SUSPENDED", "ACTIVE")[turn // KINDS % 2]
        account = f"Account|{self.world['accounts'][number]}"
        variables = {"input": {"accountID": account, "status": status}}
        return {"query": CHANGE, "variables": variables}


def tables_before() -> None:
    """Make those of the release before, of which later ones make the next."""
    for app, name in BEFORE.items():
        migrate(app, name)


def new_migrations() -> list[Name]:
    """Those of our apps that the release before does not have, in their order."""
    from django.db.migrations.loader import MigrationLoader

    graph = MigrationLoader(None, ignore_no_migrations=True).graph
    plan: dict[Name, None] = {}
    for leaf in sorted(graph.leaf_nodes()):
        plan |= dict.fromkeys(graph.forwards_plan(leaf))
    return [
        (app, name) for app, name in plan if app in BEFORE and BEFORE[app] < name[:4]
    ]


class Told(Migrate):
    """`migrate`, and a callback for what it does with each migration."""

    def __init__(self, told: Callable[..., None]) -> None:
        super().__init__()
        self.told = told

    def migration_progress_callback(self, *said: Any) -> None:
        self.told(*said)


def migrate(
    app: str, name: str, told: Callable[..., None] = lambda *said: None
) -> None:
    from django.core.management import call_command

    call_command(Told(told), app, name, skip_checks=True, verbosity=0)
    close_connection()


def before(migration: Name) -> str:
    """The name of its app's migration before it."""
    from partnerapi.operations.release import known_migrations

    app, name = migration
    return max(one for its, one in known_migrations() if its == app and one < name)


class Watch:
    """Records what is asked and written while something happens, and soon after."""

    def __init__(
        self, locks: LockWatch, settle: float, found: Callable[[Outcome], None]
    ) -> None:
        self.locks, self.settle, self.found = locks, settle, found
        self.clients: list[Clients] = []
        self.writers: list[Writer] = []
        self.begun: dict[str, float] = {}
        self.seen_until = time.monotonic()

    def see(self, what: str, did: Callable[[], object]) -> None:
        self.begun[what] = time.monotonic()
        did()
        self.ended(what)

    def told(self, action: str, migration: Any = None, *_: object) -> None:
        """What `migrate` does: each migration is seen, however often it is tried."""
        if migration is None:
            return
        app, name = migration.app_label, migration.name
        back = action.startswith("unapply")
        what = f"back to {app}.{before((app, name))}" if back else f"{app}.{name}"
        if action.endswith("start"):
            self.begun.setdefault(what, time.monotonic())
        else:
            self.ended(what)

    def ended(self, what: str) -> None:
        """It has happened: wait until all have gone on, and `settle` seconds."""
        ended = time.monotonic()
        time.sleep(self.settle)
        for one in (*self.clients, *self.writers):
            until(partial(one.gone_on, ended), lambda: f"{what}: nothing goes on")
        since, self.seen_until = self.seen_until, time.monotonic()

        def meanwhile(answers: list[Answer]) -> list[Answer]:
            return [one for one in answers if one.at + one.seconds >= since]

        asked = meanwhile([*chain.from_iterable(one.answers for one in self.clients)])
        written = meanwhile([*chain.from_iterable(w.answers() for w in self.writers)])
        self.found(
            Outcome(
                what,
                ended - self.begun.pop(what),
                dict(Counter(answer.code for answer in asked)),
                max((answer.seconds for answer in asked), default=0.0),
                self.locks.longest(since),
                dict(Counter(answer.code for answer in written)),
                max((answer.seconds for answer in written), default=0.0),
            )
        )


def upgrade(
    old: Path,
    next_: Path,
    names: list[Name],
    world: dict[str, Any],
    per_second: float,
    seconds: float,
    busy: bool,
    logs: Path,
    found: Callable[[Outcome], None],
) -> None:
    """Upgrade and go back, and see what clients of the release before are answered.

    It ends with the upgrade.
    """
    lasts = dict(names)
    firsts = dict(reversed(names))
    with (
        serving(old, logs / "old.log", busy) as port,
        Clients(port, world, per_second) as clients,
        Writer(old, ENTRIES, world["ledger"], logs / "entries.log") as entries,
        Writer(old, ORDERS, world["market"], logs / "orders.log") as orders,
        LockWatch() as locks,
    ):
        watch = Watch(locks, seconds / 10, found)
        watch.clients, watch.writers = [clients], [entries, orders]
        watch.see("nothing happens", partial(time.sleep, seconds))
        # As a release does it, in one run: the last of each app brings all before it.
        for app, name in lasts.items():
            what = f"all of migrate {app}"
            watch.see(what, partial(migrate, app, name, watch.told))
        watch.see("rights are granted", partial(grant, next_, KEEP))
        with (
            serving(next_, logs / "new.log", busy) as port,
            Clients(port, world, per_second) as news,
            Writer(next_, ENTRIES, world["ledger"], logs / "new-entries.log") as new,
            Writer(next_, ORDERS, world["market"], logs / "new-orders.log") as placed,
        ):
            watch.clients, watch.writers = (
                [clients, news],
                [entries, orders, new, placed],
            )
            watch.see("both releases serve", partial(time.sleep, seconds))
        watch.clients, watch.writers = [clients], [entries, orders]
        for app, name in firsts.items():
            what = f"all of migrate {app} back"
            watch.see(what, partial(migrate, app, before((app, name)), watch.told))
        watch.see("rights are granted again", partial(grant, old))
    # Again, and no one looks.
    for app, name in lasts.items():
        migrate(app, name)
    grant(next_)


LISTS = {
    "accounts": ("accounts_account", "partner_id"),
    "orders": ("trading_order", "partner_id"),
    "accountOrders": ("trading_order", "account_id"),
    "legacyShareholders": ("issuers_legacyshareholder", "issuer_id"),
}
"""The lists whose rows a migration counts: their tables, and the columns of keys."""
COUNTED = """
    SELECT count(*) FROM (
        SELECT {column} AS key, count(*) AS number FROM {table} GROUP BY 1) r
    FULL JOIN (SELECT key, number FROM accounts_total
        WHERE list = %s AND number > 0) t USING (key)
    WHERE r.number IS DISTINCT FROM t.number
"""


ALONE = {
    "entries without postings": """
        SELECT count(*) FROM issuers_ledgertransaction t WHERE NOT EXISTS (
            SELECT FROM issuers_ledgerposting p
            WHERE (p.token_id, p.seq) = (t.token_id, t.seq))
    """,
    "balances that are not the sum of their postings": """
        SELECT count(*) FROM issuers_holderbalance b WHERE b.balance <> (
            SELECT sum(p.delta) FROM issuers_ledgerposting p
            WHERE (p.token_id, p.account_id) = (b.token_id, b.account_id))
    """,
    "heads that are not at their last entry": """
        SELECT count(*) FROM issuers_tokenledgerhead h WHERE h.last_seq <> (
            SELECT count(*) FROM issuers_ledgertransaction t
            WHERE t.token_id = h.token_id)
    """,
    "cash without postings": """
        SELECT count(*) FROM accounts_cashtransaction t WHERE 2 <> (
            SELECT count(*) FROM accounts_cashposting p
            WHERE p.transaction_id = t.id AND abs(p.delta) = t.amount)
    """,
    "trades without their entry or their payment": """
        SELECT count(*) FROM trading_execution x WHERE NOT EXISTS (
            SELECT FROM issuers_ledgertransaction t
            WHERE (t.token_id, t.seq) = (x.token_id, x.ledger_seq)
                AND t.kind = 'TRADE' AND t.amount = x.quantity)
        OR NOT EXISTS (
            SELECT FROM accounts_cashtransaction c
            WHERE c.id = x.cash_transaction AND c.amount = x.price * x.quantity)
    """,
    "levels that are not their orders": """
        SELECT count(*) FROM (
            SELECT token_id, side, limit_price AS price, sum(quantity - filled) AS units
            FROM trading_order WHERE status = 'OPEN' GROUP BY 1, 2, 3) o
        FULL JOIN (SELECT l.* FROM marketdata_booklevel l
            JOIN trading_market m ON m.token_id = l.token_id) l
            ON (l.token_id, l.side, l.price_cents) = (o.token_id, o.side, o.price)
        WHERE o.units IS DISTINCT FROM l.quantity
    """,
    "filled that is not the sum of its trades": """
        SELECT count(*) FROM trading_order o WHERE o.filled <> (
            SELECT coalesce(sum(x.quantity), 0) FROM trading_execution x
            WHERE o.id IN (x.buy_order_id, x.sell_order_id))
    """,
}
"""Rows that lack what follows from them, by a name: counted."""


def wrong_totals() -> dict[str, int]:
    """How many totals that migrations wrote are not those of the rows, by list; and
    how many rows lack what follows from them."""
    found = {}
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"]) as session:
        for name, (table, column) in LISTS.items():
            asked = COUNTED.format(table=table, column=column)
            row = session.execute(asked, [name]).fetchone()
            assert row is not None
            found[f"wrong totals of {name}"] = row[0]
        for what, asked in ALONE.items():
            row = session.execute(asked).fetchone()
            assert row is not None
            found[what] = row[0]
    return found


def measure(
    rows: int,
    per_second: float,
    seconds: float,
    busy: bool,
    directory: Path,
    note: Console,
) -> tuple[list[Outcome], dict[str, int]]:
    names = new_migrations()
    last = [name for name in names if name[1][:4] >= LAST.get(name[0], "9")]
    later = [n for n in names if n[1][:4] >= LATER[n[0]] and n not in last]
    first = [name for name in names if name not in (*later, *last)]
    old = code_before(names, directory / "release-before")
    between = code_before(later, directory / "release-between")
    recent = code_before(last, directory / "release-recent")
    grant(old)
    began = time.monotonic()
    world = populate(old, CLIENTS, rows)
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute(TRANSFERS_ALONE)
    note.print(f"{rows} rows a table, written in {time.monotonic() - began:.0f} s")
    outcomes: list[Outcome] = []

    def found(one: Outcome) -> None:
        note.print(
            f"{one.what}: {one.seconds:.1f} s, slowest {one.slowest:.2f} s, "
            f"held up {one.held:.2f} s, {one.codes}, {one.entries}"
        )
        outcomes.append(one)

    for releases in (
        (old, between, first),
        (between, recent, later),
        (recent, ROOT, last),
    ):
        upgrade(*releases, world, per_second, seconds, busy, directory, found)
    seen = Counter(one.what for one in outcomes)
    for app, name in names:
        for what in (f"{app}.{name}", f"back to {app}.{before((app, name))}"):
            if seen[what] != 1:
                raise RunError(f"{what} was seen {seen[what]} times")
    return outcomes, wrong_totals()


def failures(
    outcomes: list[Outcome], wrong: dict[str, int], busy: bool, pace: Pace
) -> Iterator[str]:
    """What went otherwise than it should; on a busy machine time does not count."""
    for one in outcomes:
        for code in [*one.codes, *one.entries]:
            if code != "200":
                yield f"{one.what}: answered {code}"
        if not busy and (slowest := pace.idle(one.slowest)) > MOST_SECONDS:
            yield f"{one.what}: a request took {slowest:.1f} s as on idle cores"
    for what, number in wrong.items():
        if number:
            yield f"{number} {what}"


def show(outcomes: list[Outcome]) -> None:
    table = Table(title="Clients while migrations are applied and taken back")
    for column in (
        "what", "takes", "requests", "slowest", "held up", "entries", "slowest",
    ):  # fmt: skip
        table.add_column(column)
    for one in outcomes:
        asked, written = (
            "\n".join(f"{number} × {code}" for code, number in codes.items())
            for codes in (one.codes, one.entries)
        )
        table.add_row(
            one.what,
            f"{one.seconds:.1f} s",
            asked,
            f"{one.slowest:.2f} s",
            f"{one.held:.2f} s",
            written,
            f"{one.slowest_entry:.2f} s",
        )
    Console().print(table)


def main(pace: Pace) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each table")
    parser.add_argument(
        "--per-second", type=float, default=80, help="requests of all clients (80)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="without a migration; a tenth of it after each",
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--busy", action="store_true", help="do not judge by time")
    options = parser.parse_args()
    note = Console(stderr=True)
    try:
        with breakable_installation(tables_before) as (_, database):
            outcomes, wrong = measure(
                options.rows,
                options.per_second,
                options.seconds,
                options.busy,
                database.directory,
                note,
            )
    except RunError as error:
        sys.exit(str(error))
    found = [*failures(outcomes, wrong, options.busy, pace)]
    if options.json:
        report = {"outcomes": [*map(asdict, outcomes)], "failures": found}
        sys.stdout.write(json.dumps(report))
    else:
        show(outcomes)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    with yardstick() as pace:
        main(pace)

"""No snapshot of before passes a freeze, a rule, a suspension or a payment by."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.access import Scope
from accounts.people.models import UserHolder
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.legacy.models import LegacyImport, LegacyShareholderChange
from issuers.models import IndustryClassificationBenchmark
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from issuers.register.models import LedgerTransaction
from marketdata.trading.models import Order
from partnerapi.core.database import rows_of
from partnerapi.core.roles import APPLICATION, CALLED_BY_APPLICATION
from partnerapi.sandbox.data.approvals import ASKER, approved_key, colleague
from tests.approved import approved_rule, desk
from tests.characters import new_world
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    purse,
    sell,
)

ISOLATIONS = ("REPEATABLE READ", "SERIALIZABLE")
REFUSED = "READ COMMITTED"


@contextmanager
def snapshot(isolation: str) -> Iterator[None]:
    """A transaction that sees what was committed before it, and is rolled back."""
    with transaction.atomic():
        run(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
        run("SELECT FROM issuers_restriction, issuers_tokenrule")
        yield
        transaction.set_rollback(True)


@contextmanager
def another_session() -> Iterator[None]:
    usual = connections["default"]
    connections["default"] = usual.copy()
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = usual


def run(sql: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def refuses(attempt: Callable[[], object]) -> None:
    with pytest.raises(DatabaseError, match=REFUSED), transaction.atomic():
        attempt()


class Traders:
    """Two clients with 100 units and 1,000.00 euros each, on a market."""

    def __init__(self) -> None:
        self.token = new_market()
        self.clients = new_clients(2)
        for client in self.clients:
            deposit(client, 100_000)
        give(self.token, dict.fromkeys(self.clients, 100))
        accounts = ledger.holder_accounts(c.user_id for c in self.clients)
        self.a, self.b = (accounts[client.user_id] for client in self.clients)
        self.users = [client.user for client in self.clients]
        self.entry = Entry(self.token.pk, Kind.TRANSFER, 60, self.a, self.b)
        colleague(ASKER)

    def restrict(self, kind: str, **terms: object) -> None:
        restrictions.restrict(self.users[0], Terms(kind, "a court", **terms), ASKER)

    def enter(self) -> None:
        """The entry as SQL; nothing is read or locked before."""
        run(
            "SELECT register_write('me', ARRAY[%s]::uuid[], ARRAY['TRANSFER'],"
            " ARRAY[%s]::bigint[], ARRAY[%s]::bigint[], ARRAY[60]::numeric[],"
            " ARRAY[''], ARRAY[NULL]::uuid[], ARRAY[NULL]::bigint[], '{}', '{}', '{}',"
            " NULL)",
            self.token.pk, self.a, self.b,
        )  # fmt: skip


class Change(NamedTuple):
    """What another session commits, and what is tried by the snapshot of before."""

    commit: Callable[[Traders], object]
    attempts: tuple[Callable[[Traders], object], ...]


def record(one: Traders) -> None:
    ledger.record([one.entry], "me")


def order(one: Traders) -> None:
    place(one.token, sell(one.clients[0], 60, 100))


def suspend(one: Traders) -> None:
    staff = desk()
    one.clients[0].change_status("SUSPENDED", staff, "Asked")


UNITS = (record, Traders.enter, order)
CHANGES = {
    "freeze": Change(lambda one: one.restrict("FREEZE"), UNITS),
    "lock-up": Change(
        lambda one: one.restrict("LOCK_UP", token=one.token, units=90), UNITS
    ),
    "pledge": Change(
        lambda one: one.restrict(
            "PLEDGE", token=one.token, units=90, beneficiary="A bank"
        ),
        UNITS,
    ),
    "pause": Change(
        lambda one: approved_rule(one.token, "TRANSFERS_PAUSED", {}), UNITS
    ),
    "most units": Change(
        lambda one: approved_rule(one.token, "MAX_BALANCE", {"units": 110}), UNITS
    ),
    "verified holders": Change(
        lambda one: approved_rule(one.token, "VERIFIED_HOLDERS", {}), UNITS
    ),
    "suspension": Change(suspend, (order,)),
    "cash": Change(
        lambda one: place(one.token, buy(one.clients[0], 900, 100)), (order,)
    ),
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_was_committed_since_the_snapshot_binds(change: Change, isolation: str):
    one = Traders()
    entries, orders = LedgerTransaction.objects.count(), Order.objects.count()
    with snapshot(isolation):
        with another_session():
            change.commit(one)
            orders = Order.objects.count()
        for attempt in change.attempts:
            refuses(partial(attempt, one))
    assert LedgerTransaction.objects.count() == entries
    assert Order.objects.count() == orders
    assert purse(one.clients[1]) == (100_000, 0)


@pytest.mark.django_db(transaction=True)
def test_no_default_of_the_role_makes_a_session_use_snapshots():
    database = connection.settings_dict["NAME"]
    default = f'ALTER ROLE CURRENT_USER IN DATABASE "{database}" {{}}'
    run(default.format("SET default_transaction_isolation = 'serializable'"))
    try:
        with another_session(), connection.cursor() as cursor:
            cursor.execute("SHOW transaction_isolation")
            assert cursor.fetchall() == [("read committed",)]
    finally:
        run(default.format("RESET default_transaction_isolation"))


# No trigger judges a change of these by other rows, nor derives anything from it.
UNJUDGED = re.compile(
    r"accounts_(apikey|country|desknotice|holderimport|partner|pepper|staffnotice)$|auth_group$|"
    r"axes_|django_|issuers_(delivery(job|step)|document|holder(commitment|salt)|holding(page|tree)|"
    r"legacyimport|recordinstant|state(d|ment)\w*|witness(key)?)$|"
    r"marketdata_(conformancereport|fix\w*)$|"
    r"partnerapi_|"
    r"trading_clocklease$"
)
NEW = "INSERT INTO {0} DEFAULT VALUES"
SAME = "UPDATE {0} SET id = id"
GONE = "DELETE FROM {0}"
JUDGED = {
    "accounts_user": [NEW, SAME, GONE],
    "accounts_user_groups": [
        "INSERT INTO {0} (user_id, group_id) SELECT u.id, g.id FROM accounts_user u,"
        " auth_group g LIMIT 1"
    ],
    "accounts_user_user_permissions": [
        "INSERT INTO {0} (user_id, permission_id) SELECT u.id, p.id"
        " FROM accounts_user u, auth_permission p LIMIT 1"
    ],
    "accounts_userholder": ["UPDATE {0} SET name = name || 'x'", GONE],
    "auth_group_permissions": [
        "INSERT INTO {0} (group_id, permission_id) SELECT g.id, p.id FROM auth_group g,"
        " auth_permission p WHERE (g.id, p.id) NOT IN (SELECT group_id, permission_id"
        " FROM {0}) LIMIT 1"
    ],
    "issuers_article": [SAME, GONE],
    "issuers_industryclassificationbenchmark": [
        "UPDATE {0} SET subsector_code = left(subsector_code, 6) || '99'"
        " WHERE subsector_code = (SELECT min(subsector_code) FROM {0})"
    ],
    "issuers_issuer": [NEW, SAME, GONE],
    "issuers_issuerfinancialdata": [SAME, GONE],
    "issuers_legacyshareholder": [NEW, SAME, GONE],
    "issuers_legacyshareholderchange": [GONE],
    "issuers_token": [NEW, SAME],
    "otp_totp_totpdevice": [GONE],
}
"""Changes that a trigger judges. One of no row is not judged."""


def test_each_table_that_the_application_writes_is_judged_or_not():
    written = {t for t, rights in APPLICATION.items() if rights not in ("", "SELECT")}
    assert {t for t in written if not UNJUDGED.match(t)} == JUDGED.keys()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_nothing_that_is_judged_is_changed_in_a_snapshot(isolation: str):
    world = new_world()
    [client] = new_clients(1, world.partner)
    UserHolder.objects.get_or_create(user=client.user)
    TOTPDevice.objects.create(user=client.user, confirmed=False)
    approved_key(world.partner, [Scope.ISSUERS_READ])
    IndustryClassificationBenchmark.objects.create(
        industry_code="10", supersector_code="1010", sector_code="101010",
        subsector_code="10101010",
    )  # fmt: skip
    file = LegacyImport.objects.create(
        issuer=world.listed, file_name="x", checksum_sha256="0" * 64, imported_by="me"
    )
    LegacyShareholderChange.objects.create(
        shareholder=world.shareholders[0], batch=file, before={}
    )

    def change(statement: str) -> None:
        run(statement)
        run("SET CONSTRAINTS ALL IMMEDIATE")

    for table, changes in JUDGED.items():
        for statement in changes:
            assert "INSERT" in statement or rows_of(f"SELECT 1 FROM {table}"), table
            with snapshot(isolation):
                refuses(partial(change, statement.format(table)))


LOCKING = """
    SELECT p.oid::regprocedure::text, ARRAY(
        SELECT CASE WHEN t = 'boolean'::regtype THEN 'TRUE'
            ELSE format('NULL::%%s', t::regtype) END
        FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, place) ORDER BY place)
    FROM pg_proc p
    WHERE p.oid = ANY (%s::regprocedure[])
        AND p.prosrc ~ ' FOR (NO KEY )?(UPDATE|SHARE)' AND p.prosrc !~ 'SKIP LOCKED'
"""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_no_function_locks_rows_and_reads_them_in_a_snapshot(isolation: str):
    with connection.cursor() as cursor:
        cursor.execute(LOCKING, [[*CALLED_BY_APPLICATION]])
        locking = cursor.fetchall()
    assert len(locking) >= 12
    for signature, values in locking:
        call = f"SELECT * FROM {signature.partition('(')[0]}({', '.join(values)})"
        with snapshot(isolation):
            refuses(partial(run, call))

"""Settlements at once, and ended at any statement: whole or not at all, and once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import Error, connection

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.approvals.models import ApprovalKind
from issuers.offerings import deciding
from issuers.offerings.models import Offering, Subscription
from issuers.offerings.verification import INVARIANTS
from issuers.register.models import LedgerTransaction
from partnerapi.core.database import execute, rows_of, value_of
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import file_and_approve
from tests.accounts.money import deposit, head_of
from tests.approved import asker
from tests.issuers.offerings.offerings import allot, close, opened, subscribe
from tests.marketdata.trading.trading import new_clients
from tests.owner import tamper
from tests.waiting import until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]
MOST_STATEMENTS = 12
MOST_WRITES = 100


def subscribed(**more: Any) -> tuple[Offering, list[Account]]:
    """Two clients want 100 units each, of 100 in all."""
    offering = opened(**more)
    accounts = new_clients(2)
    for account in accounts:
        deposit(account, 100_000)
        subscribe(offering, account, 100)
    return close(offering), accounts


def ready() -> tuple[Offering, list[Account]]:
    """Two clients get 50 units each."""
    offering, accounts = subscribed()
    return allot(offering), accounts


def approval(offering: Offering) -> Any:
    content = deciding.settlement_content(offering)
    [request] = file_and_approve(ApprovalKind.SETTLEMENT, content)
    return request.pk


def state(offering: Offering, accounts: list[Account]) -> tuple[object, ...]:
    offering.refresh_from_db()
    entries = LedgerTransaction.objects.filter(token=offering.token, kind="ALLOCATE")
    rows = Subscription.objects.filter(offering=offering)
    return (
        offering.status,
        sorted(rows.values_list("status", flat=True)),
        entries.count(),
        [head_of(account) for account in accounts],
    )


NOTHING = ("ALLOTTED", ["ACTIVE"] * 2, 0, [(100_000, 100_000)] * 2)
WHOLE = ("SETTLED", ["SETTLED"] * 2, 2, [(50_000, 0)] * 2)


def attempt(offering: Offering, request: Any) -> bool:
    try:
        deciding.settle(offering, request, asker())
    except (Error, NotApproved):
        return False
    finally:
        connection.close()
    return True


def test_of_two_settlements_at_once_one_happens():
    offering, accounts = ready()
    requests = [approval(offering) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        done = [*pool.map(lambda request: attempt(offering, request), requests)]
    assert sorted(done) == [False, True]
    assert state(offering, accounts) == WHOLE
    assert [
        found.rule for found in check_invariants(INVARIANTS) if found.breaches
    ] == []


@contextmanager
def ended_before(number: int) -> Iterator[list[int]]:
    """End this thread's session before its n-th statement; counts the statements."""
    seen = [0]

    def wrapper(execute: Callable[..., Any], *arguments: Any) -> Any:
        seen[0] += 1
        if seen[0] == number:
            connection.connection.pgconn.finish()
        return execute(*arguments)

    with connection.execute_wrapper(wrapper):
        yield seen


def test_a_settlement_that_ends_at_any_statement_is_whole_or_nothing():
    found = set()
    for number in range(1, MOST_STATEMENTS):
        offering, accounts = ready()
        request = approval(offering)
        with ended_before(number) as seen:
            attempt(offering, request)
        after = state(offering, accounts)
        assert after in (NOTHING, WHOLE), number
        found.add(after[0])
        if seen[0] < number:
            break
        if after == NOTHING:
            # The next attempt with the same approval settles it.
            assert attempt(offering, request)
            assert state(offering, accounts) == WHOLE
    else:
        pytest.fail("a settlement has more statements than were tried")
    assert found == {"ALLOTTED", "SETTLED"}
    assert [
        finding.rule for finding in check_invariants(INVARIANTS) if finding.breaches
    ] == []


@contextmanager
def stopping() -> Iterator[Callable[[int], None]]:
    """Makes an acting session wait before its n-th statement that writes, until it is
    ended; others do not count.

    Statements within functions count, and those of the commit.
    """
    tamper(
        f"CREATE SEQUENCE tests.writes MINVALUE -{MOST_WRITES}",
        STOP,
        "GRANT EXECUTE ON FUNCTION tests.stop() TO PUBLIC",
        WATCH,
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtext('writes'))")

        def stop_at(number: int) -> None:
            tamper(f"SELECT setval('tests.writes', -{number})")

        yield stop_at
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(hashtext('writes'))")
        tamper("DROP FUNCTION tests.stop() CASCADE", "DROP SEQUENCE tests.writes")


STOP = """
    CREATE FUNCTION tests.stop() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
    AS $$ BEGIN
        IF current_setting('tests.acts', TRUE) = 'yes' THEN
            IF nextval('tests.writes') = 0 THEN
                PERFORM pg_advisory_xact_lock(hashtext('writes'));
            END IF;
        END IF;
        RETURN NULL;
    END $$
"""
WATCH = """
    DO $$ DECLARE written text; BEGIN
        FOR written IN SELECT c.oid::regclass FROM pg_class c
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                AND NOT c.relispartition
        LOOP
            EXECUTE format('CREATE TRIGGER aaa_stop BEFORE INSERT OR UPDATE OR DELETE '
                'ON %s FOR EACH STATEMENT EXECUTE FUNCTION tests.stop()', written);
        END LOOP;
    END $$
"""
END = """
    SELECT pg_terminate_backend(l.pid) FROM pg_locks l
    JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
    WHERE l.locktype = 'advisory' AND NOT l.granted AND l.pid <> pg_backend_pid()
        AND l.objid::bigint = hashtext('writes')::bigint & 4294967295
"""


def everything() -> dict[str, str | None]:
    """The digest of each table that a settlement or an allotment writes."""
    return {
        table: value_of(
            f"SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} t"
        )
        for table in TABLES
    }


TABLES = (
    "accounts_approvaloutcome", "accounts_cashhead", "accounts_cashposting",
    "accounts_cashtransaction", "issuers_event", "issuers_holderbalance",
    "issuers_ledgertransaction", "issuers_subscription", "issuers_tokenledgerhead",
    "issuers_tokenprice",
)  # fmt: skip


def ended_at_each_write(act: Callable[[], bool], stop_at: Callable[[int], None]) -> int:
    """End an act before each of its writes, until it leaves anything; how often."""
    before = everything()
    for number in range(1, MOST_WRITES):
        stop_at(number)
        # The end of a settlement's mark is written after its commit.
        if happens(act) or everything() != before:
            return number - 1
    raise AssertionError("it writes more often than was tried")


def happens(act: Callable[[], bool]) -> bool:
    """Whether an act happens whole; its session is ended where it waits."""

    def acts() -> bool:
        execute("SET tests.acts = 'yes'")
        return act()

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(acts)
        until(lambda: acting.done() or rows_of(END))
        return acting.result()


@pytest.mark.parametrize("source", ["TREASURY", "MINT"])
def test_what_is_ended_within_a_function_is_whole_or_nothing(source: str):
    offering, accounts = subscribed(source=source, fee=150, vat=2_000)
    content = deciding.offering_content(offering, deciding.ALLOT)
    [request] = file_and_approve(ApprovalKind.OFFERING, content)

    def allots() -> bool:
        try:
            with carrying([request.pk]):
                deciding.allot_units(offering, content["digest"], asker())
        except (Error, NotApproved):
            return False
        finally:
            connection.close()
        return True

    with stopping() as stop_at:
        assert ended_at_each_write(allots, stop_at) > 3
        assert state(offering, accounts) == NOTHING
        settlement = approval(offering)
        assert ended_at_each_write(lambda: attempt(offering, settlement), stop_at) > 30
    assert state(offering, accounts) == WHOLE
    assert [
        finding.rule for finding in check_invariants(INVARIANTS) if finding.breaches
    ] == []

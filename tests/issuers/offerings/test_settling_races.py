"""Settlements at once, and ended at any statement: whole or not at all, and once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import Error, connection, transaction

from accounts.accounts.models import Account
from accounts.approvals.four_eyes import NotApproved
from accounts.approvals.models import ApprovalKind
from accounts.cash.writer import account_of, lock_heads
from issuers.offerings import deciding
from issuers.offerings.models import Offering, Subscription
from issuers.offerings.verification import INVARIANTS
from issuers.register.models import LedgerTransaction
from partnerapi.core.database import value_of
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import file_and_approve
from tests.accounts.money import deposit, head_of
from tests.approved import asker
from tests.issuers.offerings.offerings import allot, close, opened, subscribe
from tests.marketdata.trading.trading import new_clients
from tests.waiting import until_waiting_for_a_lock

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]
MOST_STATEMENTS = 12


TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query LIKE '%%offerings_settle(%%' AND pid <> pg_backend_pid()
"""


def ready() -> tuple[Offering, list[Account]]:
    """Two clients get 50 units each."""
    offering = opened()
    accounts = new_clients(2)
    for account in accounts:
        deposit(account, 100_000)
        subscribe(offering, account, 100)
    return allot(close(offering)), accounts


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


def test_a_settlement_that_is_ended_while_it_writes_leaves_nothing():
    offering, accounts = ready()
    request = approval(offering)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_heads([account_of(accounts[1]).pk])
            settling = pool.submit(attempt, offering, request)
            until_waiting_for_a_lock()
            assert value_of(TERMINATE)
        assert settling.result() is False
    assert state(offering, accounts) == NOTHING
    assert attempt(offering, request)
    assert state(offering, accounts) == WHOLE

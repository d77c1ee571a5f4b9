"""Server time: what a caller takes of it, and who is refused for want of it."""

import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from accounts.accounts.models import LOCKED
from partnerapi.core.database import execute, value_of
from partnerapi.core.locks import lock
from partnerapi.core.postgresql.timing import Meter
from partnerapi.gateway import clock
from partnerapi.gateway.clock import MINUTE, Minute, Running
from partnerapi.gateway.refusals import Throttled
from tests.characters import Answer, Ask, World
from tests.marketdata.trading.trading import new_clients
from tests.servers import PATIENCE_SECONDS
from tests.waiting import until_waiting_for_a_lock

PassBy = Callable[[float], None]


@pytest.fixture
def pass_by(monkeypatch: pytest.MonkeyPatch) -> Iterator[PassBy]:
    """Lets so many seconds pass for callers, where time stands still else."""
    now = [1_000.0]

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    clock.minutes.clear()
    yield pass_by
    clock.minutes.clear()


@pytest.fixture
def ten_seconds(settings: Any) -> None:
    settings.PARTNER_API_BUDGET_SECONDS = 10


STEPS = st.lists(
    st.tuples(st.floats(0, 200), st.floats(0, 40)),  # what passes, what a request takes
    max_size=40,
)


@given(STEPS, st.floats(1, 20))
def test_what_a_caller_takes_is_its_time_and_one_request(
    steps: list[tuple[float, float]], limit: float
):
    """A request may begin while anything is left; what it takes too much is owed."""
    minute, now, took, most = Minute(), 0.0, 0.0, 0.0
    began: float | None = None
    for passed, seconds in steps:
        now += passed
        minute.go_on(limit, now)
        if minute.taken(now) >= limit:
            # It may come again then, and not a second before.
            later = now + minute.retry_after(limit, now)
            early = Minute(minute.used, minute.ends)
            early.go_on(limit, later - 1.01)
            assert early.used >= limit or later - now <= 1
            early.go_on(limit, later)
            assert early.used < limit
            continue
        began = now if began is None else began
        minute.used += seconds
        took += seconds
        most = max(most, seconds)
        whole = 1 + (now - began) // MINUTE
        assert took <= whole * limit + most + 1e-6


def test_an_address_has_half_of_a_partners_time(ten_seconds: None, pass_by: PassBy):
    for name, limit in (("partner:a", 10), ("address:192.0.2.1", 5)):
        assert clock.left(name) == limit
        clock.minute_of(name, clock.monotonic()).used = limit
        with pytest.raises(Throttled) as refused:
            Running(name).begin(name)
        assert refused.value.headers == {"Retry-After": "60"}
        assert refused.value.details == {"reason": "TIME"}
        pass_by(60)
        Running(name).begin(name)


def test_a_debt_is_paid_before_the_next_request(ten_seconds: None, pass_by: PassBy):
    clock.minute_of("partner:a", clock.monotonic()).used = 35
    for seconds in (180, 120, 60):
        with pytest.raises(Throttled) as refused:
            Running("").begin("partner:a")
        assert refused.value.headers == {"Retry-After": str(seconds)}
        pass_by(60)
    assert clock.left("partner:a") == 5


def test_a_running_request_takes_a_second_a_second(ten_seconds: None, pass_by: PassBy):
    first, second = Running(""), Running("")
    first.begin("partner:a")
    second.begin("partner:a")
    pass_by(4.9)
    assert clock.left("partner:a") == pytest.approx(0.2)
    # Its own time is known: it is what was measured, and is still going on.
    before, left, after = second.meter.seconds, second.left, second.meter.seconds
    assert 5.1 - after <= left + 1e-9
    assert left - 1e-9 <= 5.1 - before
    pass_by(0.1)
    with pytest.raises(Throttled) as refused:
        Running("").begin("partner:a")
    assert refused.value.headers == {"Retry-After": "1"}
    first.end()
    with first.paused():
        Running("").begin("partner:a")


def test_who_waits_for_others_takes_nothing(ten_seconds: None, pass_by: PassBy):
    leader = Running("")
    leader.begin("partner:a")
    with leader.paused():
        pass_by(100)
        assert clock.left("partner:a") == 10
        with leader.resumed():
            pass_by(3)
            assert clock.left("partner:a") == 7
        assert clock.left("partner:a") == 10
    leader.end()
    assert clock.minutes["partner:a"].running == 0


def test_a_groups_time_is_everyones_in_equal_parts():
    group = [Running(name) for name in "abcd"]
    before = [each.meter.beside_cpu for each in group]
    clock.share(group, 8.0)
    after = [each.meter.beside_cpu for each in group]
    shares = [b - a for a, b in zip(before, after, strict=True)]
    # The first has taken all of it.
    assert shares == pytest.approx([-6, 2, 2, 2])


def test_of_too_many_callers_those_with_time_left_are_forgotten(
    ten_seconds: None, pass_by: PassBy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clock, "MOST_MINUTES", 3)
    running = Running("")
    running.begin("partner:a")
    clock.minute_of("partner:b", clock.monotonic()).used = 25
    for name in "cde":
        clock.minute_of(f"partner:{name}", clock.monotonic()).used = 0.1
        pass_by(1)
    assert set(clock.minutes) == {"partner:a", "partner:b", "partner:e"}
    running.end()


def test_statements_and_cpu_are_taken(db: None):
    meter = Meter()
    value_of("SELECT pg_sleep(0.05)")
    of_statement = meter.seconds
    assert of_statement >= 0.05
    sleep(0.05)
    assert meter.seconds < of_statement + 0.05
    while meter.seconds < of_statement + 0.1:
        pass
    seconds = meter.end()
    value_of("SELECT pg_sleep(0.05)")
    assert meter.beside_cpu < seconds


Hold = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def held(transactional_db: None) -> Iterator[Hold]:
    """Has another transaction hold what a statement locks, until a call returns."""
    threads = []

    def hold(statement: str, ended: Callable[[], object]) -> None:
        has_it = threading.Event()

        def work() -> None:
            with transaction.atomic():
                value_of(statement)
                has_it.set()
                ended()
            connection.close()

        threads.append(threading.Thread(target=work))
        threads[-1].start()
        has_it.wait()

    yield hold
    for thread in threads:
        thread.join()


ADVISORY = "SELECT pg_advisory_xact_lock(4711)"


def test_a_statement_that_locks_takes_nothing_but_cpu(held: Hold):
    def half_a_second_later() -> None:
        until_waiting_for_a_lock()
        sleep(0.5)

    held(ADVISORY, half_a_second_later)
    meter, began = Meter(), monotonic()
    with transaction.atomic():
        lock(ADVISORY, [])
    waited = monotonic() - began
    assert waited >= 0.5
    assert meter.end() < waited / 2


def test_a_wait_that_a_lock_ended_takes_nothing(held: Hold):
    is_over = threading.Event()
    held(ADVISORY, lambda: is_over.wait(PATIENCE_SECONDS))
    meter, began = Meter(), monotonic()
    with transaction.atomic():
        execute("SET LOCAL lock_timeout = 500")
        with pytest.raises(OperationalError):
            value_of(ADVISORY)
    is_over.set()
    waited = monotonic() - began
    assert waited >= 0.5
    assert meter.end() < waited / 2


MARK = "SELECT pg_advisory_xact_lock_shared(hashtext('writers of the register'), 0)"
TABLE = "query ($id: ID!) { issuer(id: $id) { capitalizationTable { totalValue } } }"
ATTEST = """
mutation ($input: AttestInvestorInput!) { attestInvestor(input: $input) {
  account { id } } }
"""
DEBUG = {"X-Cost-Debug": "1"}


def billed(answer: Answer) -> float:
    assert "errors" not in answer.body, answer.body
    return answer.body["extensions"]["cost"]["time"]


def test_a_table_that_waits_for_writers_takes_little(
    held: Hold, world: World, partner: Ask
):
    issuer = {"id": f"Issuer|{world.listed.pk}"}
    billed(partner(TABLE, issuer, **DEBUG))

    def half_a_second_later() -> None:
        until_waiting_for_a_lock()
        sleep(0.5)

    held(MARK, half_a_second_later)
    began = monotonic()
    answer = partner(TABLE, issuer, **DEBUG)
    waited = monotonic() - began
    assert waited >= 0.5
    assert billed(answer) < waited / 2


def test_an_attestation_that_waits_for_another_takes_little(
    held: Hold, world: World, partner: Ask
):
    [account] = new_clients(1, world.partner)
    locked = f"SELECT 1 FROM accounts_user WHERE id = '{account.user_id}' FOR UPDATE"

    def half_a_second_later() -> None:
        until_waiting_for_a_lock()
        sleep(0.5)

    held(locked, half_a_second_later)
    began = monotonic()
    attested = {"accountID": f"Account|{account.pk}", "verification": "VERIFIED"}
    attested |= {"countryCode": "FR", "investorClass": "INFORMED", "evidence": "a file"}
    once = {"Idempotency-Key": str(uuid4())}
    answer = partner(ATTEST, {"input": attested}, **once, **DEBUG)
    waited = monotonic() - began
    assert waited >= 0.5
    assert billed(answer) < waited / 2


def test_the_statements_that_lock_lock(world: World):
    """`lock` binds as the server does: the types of arguments are known."""
    assert lock(LOCKED, [world.partner.pk]) == []


def spend(partner: World, seconds: float) -> None:
    name = f"partner:{partner.partner.pk}"
    clock.minute_of(name, monotonic()).used += seconds


def test_who_has_no_time_left_is_refused_unread(
    world: World, partner: Ask, ten_seconds: None
):
    assert 0 < float(remaining(partner("{ __typename }"))) < 10
    spend(world, 25)
    refused = partner.post(b"[")
    assert (refused.status, refused.code) == (429, "THROTTLED")
    [error] = refused.errors
    assert error["extensions"]["reason"] == "TIME"
    assert 60 < int(refused.headers["Retry-After"]) <= 120
    assert remaining(refused) == "0.000"
    # Its points are as they were.
    assert refused.headers["X-Query-Cost"] == "0"
    assert Ask()("{ __typename }").status == 200


def remaining(answer: Any) -> str:
    told: str = answer.headers["X-RateLimit-Time-Remaining"]
    return told


def test_who_has_no_points_is_told_so(world: World, stranger: Ask, settings: Any):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 5
    [error] = stranger("{ __typename }").errors
    assert error["extensions"]["reason"] == "POINTS"


def test_the_time_is_told_in_the_body_when_asked(
    world: World, partner: Ask, ten_seconds: None
):
    answer = partner("{ issuers { nodes { id } } }", **{"X-Cost-Debug": "1"})
    cost = answer.body["extensions"]["cost"]
    assert 0 < cost["time"] < 10
    assert 0 < cost["timeRemaining"] < 10
    assert float(remaining(answer)) <= cost["timeRemaining"] + 1e-3


def test_a_key_that_is_refused_takes_the_addresss_time(world: World, ten_seconds: None):
    invented = Ask("service-apikey_many_" + "x" * 43)
    assert invented("{ __typename }").code == "UNAUTHENTICATED"
    assert clock.taken("address:127.0.0.1") > 0
    clock.minute_of("address:127.0.0.1", monotonic()).used = 5
    [error] = invented("{ __typename }").errors
    assert error["extensions"]["reason"] == "TIME"

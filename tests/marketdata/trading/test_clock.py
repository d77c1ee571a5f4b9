"""The market clock moves each market once, and another one takes over."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings
from django.db import transaction

from marketdata.trading import locked, phases
from marketdata.trading.clock import Clock
from marketdata.trading.models import ClockLease, Market
from partnerapi.core.database import rows_of, value_of
from partnerapi.operations.diagnosis import jobs
from tests.marketdata.fix.acceptor_process import database_url
from tests.marketdata.trading.test_market import Two, two
from tests.marketdata.trading.trading import as_committed, buy, place
from tests.owner import tamper
from tests.threads import in_threads
from tests.waiting import PROGRAM_SECONDS, until

__all__ = ["two"]

DUE = "UPDATE trading_market SET next_phase_at = clock_timestamp()"
MISSED = """
    UPDATE trading_market SET phase = 'CLOSED', next_phase = 'CONTINUOUS',
        next_phase_at = clock_timestamp() - interval '3 days',
        session_opens = (clock_timestamp() AT TIME ZONE market_time_zone()
            + interval '2 hours')::time,
        session_closes = (clock_timestamp() AT TIME ZONE market_time_zone()
            + interval '3 hours')::time
"""
PHASES = """
    SELECT number, phase FROM trading_orderevent
    WHERE kind = 'PHASE_CHANGED' AND token_id = %s ORDER BY number
"""


def changes(two: Two) -> list[str]:
    return [phase for _, phase in rows_of(PHASES, [two.token.pk])]


def named(holder: str) -> Clock:
    made = Clock()
    made.lease.holder = holder
    return made


def test_one_clock_works_and_another_one_waits(two: Two):
    one, other = named("one"), named("other")
    one.look()
    other.look()
    assert (one.is_ours, other.is_ours) == (True, False)
    since = ClockLease.objects.get().since
    one.look()
    assert ClockLease.objects.get().since == since
    one.lease.release()
    other.look()
    assert other.is_ours
    one.look()
    assert not one.is_ours
    assert ClockLease.objects.get().holder == "other"


def test_a_lease_that_ended_is_free(two: Two):
    one, other = named("one"), named("other")
    one.look()
    ClockLease.objects.update(until=ClockLease.objects.get().since)
    other.look()
    assert other.is_ours


def test_doctor_names_the_clock(two: Two):
    [none] = jobs.market_clock()
    assert (none.state, "ever run" in none.says) == ("warning", True)
    one = named("one")
    one.look()
    [works] = jobs.market_clock()
    assert (works.state, "one" in works.says) == ("ok", True)
    one.lease.release()
    [stands] = jobs.market_clock()
    assert "run_market_clock" in stands.remedy


def test_a_market_that_is_not_due_under_its_lock_stays(two: Two):
    """Another clock has moved it since it was found."""
    as_committed()
    assert not phases.move(two.token.pk)
    before = changes(two)
    tamper(DUE)
    assert phases.move(two.token.pk)
    assert changes(two) == [*before, "CLOSED"]


def test_a_missed_session_is_left_out(two: Two):
    as_committed()
    tamper(MISSED)
    before = changes(two)
    assert phases.move_due() == 0
    assert changes(two) == before
    with pytest.raises(Exception, match="CLOSED") as closed:
        place(two.token, buy(two.buyer, 1, 100))
    market = Market.objects.get(token=two.token)
    begins = market.session.next_open(market.next_phase_at)
    assert closed.value.details["nextPhaseAt"] > begins.isoformat()


@contextmanager
def running() -> Iterator[subprocess.Popen[bytes]]:
    """`run_market_clock`, without a broker to reach."""
    process = subprocess.Popen(
        [sys.executable, str(settings.BASE_DIR / "manage.py"), "run_market_clock"],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {"DATABASE_URL": database_url(), "REDIS_URL": "unix:///nowhere?db=0"},
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PROGRAM_SECONDS)


def holds(process: subprocess.Popen[bytes]) -> bool:
    [finding] = jobs.market_clock()
    return finding.state == "ok" and f":{process.pid} " in finding.says


WAITS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND application_name LIKE 'run_market_clock%%'
        AND datname = current_database()
"""


@pytest.mark.django_db(transaction=True)
def test_a_killed_clock_is_followed_by_the_other(two: Two):
    """It dies while it waits for the market that it is about to move."""
    before = changes(two)
    with running() as one:
        until(lambda: holds(one))
        with running() as other:
            with transaction.atomic():
                locked.books([two.token.pk])
                assert not in_threads(1, lambda number: tamper(DUE))
                until(lambda: value_of(WAITS))
                one.kill()
            until(lambda: changes(two)[len(before) :] == ["CLOSED", "CONTINUOUS"])
            assert holds(other)
    assert changes(two) == [*before, "CLOSED", "CONTINUOUS"]


@pytest.mark.django_db(transaction=True)
def test_it_ends_with_its_lease_given_back(two: Two):
    with running() as one:
        until(lambda: holds(one))
    assert one.returncode == 0
    [finding] = jobs.market_clock()
    assert finding.state == "warning"

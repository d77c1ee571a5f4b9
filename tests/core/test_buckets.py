"""The token bucket, at instants that the test sets."""

import pytest

from partnerapi.core import buckets
from partnerapi.core.buckets import Bucket


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, seconds; its one item may be changed."""
    now = [1000.0]
    monkeypatch.setattr(buckets, "monotonic", lambda: now[0])
    return now


def test_takes_what_it_holds_and_nothing_more(clock: list[float]):
    bucket = Bucket(capacity=10, refill=2)
    assert bucket.take(10)
    assert not bucket.take(1)
    assert bucket.level == 0


def test_regains_as_time_goes_by_and_never_more_than_its_capacity(clock: list[float]):
    bucket = Bucket(capacity=10, refill=2)
    bucket.take(10)
    clock[0] += 1.5
    assert bucket.level == 3
    clock[0] += 1000
    assert bucket.level == 10


def test_tells_how_long_its_debt_lasts(clock: list[float]):
    bucket = Bucket(capacity=10, refill=2)
    bucket.spend(4)
    assert bucket.debt_seconds == 0
    bucket.spend(10)
    assert (bucket.level, bucket.debt_seconds) == (-4, 2)
    clock[0] += 2
    assert bucket.debt_seconds == 0

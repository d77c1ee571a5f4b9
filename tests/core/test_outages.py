"""An outage is said once, tried sparingly, and its end said once."""

import logging

import pytest

from partnerapi.core import outages
from partnerapi.core.outages import Outage

logger = logging.getLogger(__name__)


@pytest.fixture
def outage() -> Outage:
    return Outage(logger, away="It is away (%s)", back="It is back", retry_seconds=2)


def test_is_said_once_and_its_end_once(
    outage: Outage, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, __name__)
    outage.end()
    for _ in range(3):
        outage.begin(OSError("no route"))
    states = [outage.is_on]
    for _ in range(3):
        outage.end()
        states.append(outage.is_on)
    assert states == [True, False, False, False]
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == [
        (logging.WARNING, "It is away (no route)"),
        (logging.INFO, "It is back"),
    ]


def test_one_caller_a_period_is_told_to_try(
    outage: Outage, monkeypatch: pytest.MonkeyPatch
):
    now = [1000.0]
    monkeypatch.setattr(outages, "monotonic", lambda: now[0])
    assert [outage.may_try(), outage.may_try()] == [True, True]
    outage.begin(OSError())
    now[0] += 1.9
    assert not outage.may_try()
    now[0] += 0.2
    assert [outage.may_try(), outage.may_try()] == [True, False]
    outage.end()
    assert [outage.may_try(), outage.may_try()] == [True, True]

import signal
import threading

import pytest

from partnerapi.core.signals import ended_by_signals, told_by_signals
from tests.waiting import PATIENCE_SECONDS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_wait_is_heard(number: signal.Signals):
    before = signal.getsignal(number)
    with ended_by_signals() as ended:
        assert not ended.is_set()
        # Where a wait begins and ends, the main thread holds this.
        with ended._cond:  # type: ignore[attr-defined]
            signal.raise_signal(number)
        assert ended.wait(PATIENCE_SECONDS)
    assert signal.getsignal(number) == before


def test_a_signal_may_come_again():
    renewed = threading.Event()
    with told_by_signals({signal.SIGHUP: renewed}):
        for _ in range(3):
            signal.raise_signal(signal.SIGHUP)
            assert renewed.wait(PATIENCE_SECONDS)
            renewed.clear()

"""Flow control in numbers: bytes that were sent and acknowledged, and seconds."""

import pytest

from marketdata.fix.acceptor.window import Window
from marketdata.fix.protocol.rules import CREDIT_SECONDS, PROBE_BYTES, WINDOW_BYTES

NOON = 43_200.0


def probed(sent: int) -> Window:
    """A window whose TestRequest follows so many bytes, at NOON."""
    window = Window()
    window.sent = sent
    window.new_probe(NOON)
    return window


@pytest.mark.parametrize(
    ("sent", "may_send", "is_probe_due"),
    [
        (0, True, False),
        (PROBE_BYTES - 1, True, False),
        (PROBE_BYTES, True, True),
        (WINDOW_BYTES - 1, True, True),
        (WINDOW_BYTES, False, True),
    ],
)
def test_is_open_below_its_size(sent, may_send, is_probe_due):
    window = Window()
    window.sent = sent
    assert (window.may_send, window.is_probe_due) == (may_send, is_probe_due)
    assert not window.is_overdue(NOON)


def test_one_test_request_is_open_at_a_time():
    window = probed(PROBE_BYTES)
    window.sent = WINDOW_BYTES
    assert not window.is_probe_due
    assert not window.may_send


def test_an_answer_acknowledges_what_was_sent_before_its_test_request():
    window = Window()
    window.sent = PROBE_BYTES
    test_request_id = window.new_probe(NOON)
    window.sent = WINDOW_BYTES
    assert window.answer(test_request_id)
    assert window.acknowledged == PROBE_BYTES
    assert window.may_send
    # What followed the TestRequest is enough for the next one.
    assert window.is_probe_due
    assert not window.answer(test_request_id)


def test_what_follows_a_test_request_may_fill_the_window():
    window = Window()
    window.sent = PROBE_BYTES
    test_request_id = window.new_probe(NOON)
    window.sent = PROBE_BYTES + WINDOW_BYTES
    assert window.answer(test_request_id)
    assert not window.may_send
    assert window.is_probe_due


@pytest.mark.parametrize("text", ["", "another"])
def test_another_heartbeat_acknowledges_nothing(text):
    window = probed(PROBE_BYTES)
    assert not window.answer(text)
    assert window.acknowledged == 0


@pytest.mark.parametrize(
    ("seconds", "is_overdue"),
    [
        (0.0, False),
        (CREDIT_SECONDS - 0.5, False),
        (CREDIT_SECONDS, True),
        (CREDIT_SECONDS + 5, True),
    ],
)
def test_a_test_request_is_overdue_after_its_time(seconds, is_overdue):
    window = probed(PROBE_BYTES)
    assert window.is_overdue(NOON + seconds) == is_overdue


def test_an_answered_test_request_is_never_overdue():
    window = Window()
    assert window.answer(window.new_probe(NOON))
    assert not window.is_overdue(NOON + 2 * CREDIT_SECONDS)


def test_a_lost_test_request_is_replaced_and_its_time_goes_on():
    window = probed(PROBE_BYTES)
    window.lose_probe()
    assert window.is_probe_lost
    test_request_id = window.new_probe(NOON + CREDIT_SECONDS - 1)
    assert not window.is_probe_lost
    assert not window.is_overdue(NOON + CREDIT_SECONDS - 1)
    assert window.is_overdue(NOON + CREDIT_SECONDS)
    assert window.answer(test_request_id)
    window.new_probe(NOON + CREDIT_SECONDS)
    assert not window.is_overdue(NOON + CREDIT_SECONDS)


def test_without_an_open_test_request_none_is_lost():
    window = Window()
    window.lose_probe()
    assert not window.is_probe_lost

"""Messages wait while the numbers of their session start anew."""

import threading
import time

from marketdata.fix.acceptor import sequence_reset
from marketdata.fix.acceptor.sequence_reset import Numbering
from tests.waiting import PATIENCE_SECONDS

NEVER = 0.1


def taken() -> threading.Lock:
    send_lock = threading.Lock()
    send_lock.acquire()
    return send_lock


def test_a_message_waits_for_the_answer_to_the_logon(monkeypatch):
    monkeypatch.setattr(sequence_reset, "HELD_SECONDS", PATIENCE_SECONDS)
    held, sent = Numbering(), threading.Event()
    held.hold()
    sender = threading.Thread(target=held.send, args=(sent.set, taken()))
    sender.start()
    assert not sent.wait(NEVER)
    held.go_on()
    sender.join(PATIENCE_SECONDS)
    assert sent.is_set()


def test_a_message_waits_no_longer_than_an_answer_may_take(monkeypatch):
    monkeypatch.setattr(sequence_reset, "HELD_SECONDS", 0.2)
    held, sent = Numbering(), threading.Event()
    began = time.monotonic()
    held.hold()
    send_lock = taken()
    held.send(sent.set, send_lock)
    assert send_lock.locked()
    assert sent.is_set()
    assert time.monotonic() - began >= 0.2


def test_it_is_at_rest_when_nothing_is_being_sent():
    held = Numbering()
    seen: list[bool] = []
    held.send(lambda: seen.append(held.is_at_rest), taken())
    assert (seen, held.is_at_rest) == ([False], True)


def test_nobody_waits_for_a_session_that_waits(monkeypatch):
    monkeypatch.setattr(sequence_reset, "HELD_SECONDS", PATIENCE_SECONDS)
    held, sent, send_lock = Numbering(), threading.Event(), taken()
    held.hold()
    sender = threading.Thread(target=held.send, args=(sent.set, send_lock))
    sender.start()
    assert send_lock.acquire(timeout=PATIENCE_SECONDS)
    send_lock.release()
    assert not sent.is_set()
    held.go_on()
    sender.join(PATIENCE_SECONDS)
    assert sent.is_set()

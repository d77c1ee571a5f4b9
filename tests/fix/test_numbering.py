"""Messages wait while the numbers of their session start anew."""

import threading
import time

from marketdata.fix import numbering
from marketdata.fix.numbering import Numbering

NEVER = 0.1


def test_a_message_waits_for_the_answer_to_the_logon():
    held, sent = Numbering(), threading.Event()
    held.hold()
    sender = threading.Thread(target=held.send, args=(sent.set,))
    sender.start()
    assert not sent.wait(NEVER)
    held.go_on()
    sender.join(5)
    assert sent.is_set()


def test_a_message_waits_no_longer_than_an_answer_may_take(monkeypatch):
    monkeypatch.setattr(numbering, "HELD_SECONDS", 0.2)
    held, sent = Numbering(), threading.Event()
    began = time.monotonic()
    held.hold()
    held.send(sent.set)
    assert sent.is_set()
    assert time.monotonic() - began >= 0.2


def test_it_is_at_rest_when_nothing_is_being_sent():
    held = Numbering()
    seen: list[bool] = []
    held.send(lambda: seen.append(held.is_at_rest))
    assert (seen, held.is_at_rest) == ([False], True)

"""What FIX 4.4 demands of an acceptor, though partners seldom do it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from marketdata.fix.acceptor.session import SILENT
from marketdata.fix.client.client import Client
from marketdata.fix.client.initiator import ANSWER_SECONDS, LoggedOut
from marketdata.fix.protocol.rules import PROBE_BYTES
from marketdata.fix.protocol.wire import utc_timestamp
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.engines import Bench, logged_on, running_engine
from tests.waiting import until

NEVER, LATE = 0.5, 0.1


@pytest.fixture
def bench(market: Market) -> Iterator[Bench]:
    with running_engine() as bench:
        yield bench


def order(number: int) -> list[tuple[int, object]]:
    at = utc_timestamp(datetime.now(UTC))
    return [(11, f"o{number}"), (55, "LUM"), (54, 1), (60, at), (38, 1), (40, 1)]


def read(client: Client):
    """The next message of any kind."""
    return client.read(client.last_in + ANSWER_SECONDS)


def test_ignores_what_is_sent_again_and_stands(bench: Bench):
    with bench.client() as client:
        client.send("D", *order(1))
        assert (client.receive().type, client.sent) == ("j", 2)
        client.send("D", (97, "Y"), *order(1))
        client.send("D", (97, "Y"), *order(2))
        assert client.receive().get(45) == "4"

        request = client.subscribe(["LUM"])
        assert client.receive().type == "W"
        books = [(267, 1), (269, 0), (146, 1), (55, "LUM")]
        again = [(262, request), (263, 1), (264, 0), (265, 1), *books]
        client.send("V", (97, "Y"), *again)
        assert client.receive(NEVER) is None
        # The request that ends it has the same id, but is another message.
        client.send("V", (97, "Y"), (262, request), (263, 2), (264, 0), *books)
        client.send("V", (97, "Y"), *again)
        assert client.receive().type == "W"


@pytest.mark.parametrize("heartbeat", [0, 30])
def test_ends_a_session_that_logs_on_once_more(bench: Bench, heartbeat):
    client = bench.client()
    client.logon()
    client.send("A", (98, 0), (108, heartbeat), (141, "Y"))
    with pytest.raises(LoggedOut, match="A Logon within a session is refused"):
        client.receive()


def test_notes_why_the_engine_logs_a_session_out(bench: Bench):
    client = bench.initiator()
    with logged_on(client, bench) as session:
        client.sent = 0
        client.send("0")
        with pytest.raises(LoggedOut, match="MsgSeqNum too low"):
            client.receive()
        until(session.ended.is_set)
    assert bench.sessions.status()[client.sender].last_logout_reason == (
        "logged out by the engine: MsgSeqNum too low, expecting 2 but received 1"
    )


def test_notes_that_a_session_was_silent(bench: Bench):
    client = bench.initiator(heartbeat=1)
    with logged_on(client, bench) as session:
        until(session.ended.is_set)
    assert bench.sessions.status()[client.sender].last_logout_reason == SILENT


def test_a_fault_of_one_session_ends_no_other(bench: Bench, monkeypatch, caplog):
    def fail(number: int) -> None:
        raise RuntimeError("a fault")

    client, other = bench.initiator(), bench.initiator(1, heartbeat=1)
    with logged_on(client, bench) as session, logged_on(other, bench) as living:
        monkeypatch.setattr(session.engine_session, "tick", fail)
        until(session.ended.is_set)
        # Its engine sends a Heartbeat each second.
        other.send("0")
        assert read(other).type == read(other).type == "0"
        assert not living.ended.is_set()
    assert "a fault" in caplog.text


def test_rejects_types_that_no_partner_sends(bench: Bench):
    with bench.client() as client:
        client.send("8", (37, 1), (17, 1), (150, 0), (39, 0), (55, "LUM"), (54, 1),
                    (151, 1), (14, 0), (6, 0))  # fmt: skip
        answer = client.receive()
        assert [answer.get(tag) for tag in (35, 372, 380)] == ["j", "8", "3"]
        assert answer.get(58) == "Unsupported Message Type"


@pytest.mark.parametrize("minutes", [-3, 3])
def test_ends_a_session_whose_clock_goes_astray(bench, monkeypatch, minutes):
    with bench.client() as client:
        astray = utc_timestamp(datetime.now(UTC) + timedelta(minutes=minutes))
        monkeypatch.setattr(
            "marketdata.fix.client.initiator.utc_timestamp", lambda at: astray
        )
        client.send("0")
        reject = client.receive()
        assert [reject.get(tag) for tag in (35, 45, 373)] == ["3", "2", "10"]
        with pytest.raises(LoggedOut):
            client.receive()


def test_a_gap_that_swallows_a_test_request_ends_nobody(bench: Bench, monkeypatch):
    monkeypatch.setattr("marketdata.fix.acceptor.window.CREDIT_SECONDS", 1.0)
    with bench.client() as client:
        client.instruments()
        live = bench.sessions.live[client.sender]
        live.window.sent += PROBE_BYTES
        bench.call(live.wake)
        # As if it had been lost: the next message shows the gap.
        assert read(client).type == "1"
        client.send("1", (112, "gap"))
        for _ in range(3):
            client.receive(0.5)
        assert (client.gaps, live.logout_reason) == (1, "")

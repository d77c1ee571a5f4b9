"""The client against a scripted other end; with our acceptor, see interop."""

import socket
import time
from functools import partial

import pytest

from marketdata.books.orderbook import Ladder, Level
from marketdata.fix.client.client import Client, Instrument, Refused
from marketdata.fix.client.initiator import (
    Disconnected,
    LoggedOut,
    LogonRefused,
    NoAnswer,
    NoConnection,
    NotFix,
    tls_context,
)
from marketdata.fix.client.replica import Inconsistent
from marketdata.fix.protocol.wire import GarbledMessage, readable
from tests.marketdata.fix.counterpart import Counterpart, change, counterpart
from tests.waiting import PATIENCE_SECONDS, until

client_for = partial(Client, host="127.0.0.1", sender="US", target="THEM", key="k_1")


def part(them: Counterpart) -> None:
    while them.hear().type != "5":
        pass
    them.say("5")


def test_logs_on_with_the_whole_key_and_out_again():
    heard, said = [], []

    def script(them):
        logon = them.welcome()
        assert [logon.get(tag) for tag in (98, 108, 141, 553, 554)] == [
            *("0", "30", "Y", "", "k_1")
        ]
        part(them)

    with counterpart(script) as port:
        with client_for(
            port=port, on_receive=heard.append, on_send=said.append
        ) as client:
            assert 0 <= client.clock_difference < PATIENCE_SECONDS
            assert "k_1" not in repr(client)
        assert client.socket is None
    assert [readable(raw).split("|")[2] for raw in said] == ["35=A", "35=5"]
    assert [readable(raw).split("|")[2] for raw in heard] == ["35=A", "35=5"]


def test_lists_instruments_from_a_list_in_parts():
    def script(them):
        them.welcome()
        request = them.hear()
        assert (request.type, request.get(559)) == ("x", "4")
        answer = [(320, request.get(320)), (322, "A"), (560, 0), (393, 2)]
        one = [(55, "LUM"), (48, "FR0000000001"), (22, 4), (107, "Lumen"), (15, "EUR")]
        two = [(55, "ORB"), (48, "0190-7"), (22, 8), (107, "Orbite"), (15, "EUR")]
        them.say("y", *answer, (893, "N"), (146, 1), *one)
        them.say("y", *answer, (893, "Y"), (146, 1), *two)
        part(them)

    with counterpart(script) as port, client_for(port=port) as client:
        assert client.instruments() == [
            Instrument("LUM", "FR0000000001", "", "Lumen", "EUR"),
            Instrument("ORB", "", "0190-7", "Orbite", "EUR"),
        ]


def test_rebuilds_a_book_from_a_snapshot_and_updates():
    def script(them):
        them.welcome()
        request = them.hear()
        assert [request.get(tag) for tag in (263, 264, 265)] == ["1", "2", "1"]
        assert request.group(267) == [{269: "0"}, {269: "1"}, {269: "2"}]
        assert request.group(146) == [{55: "LUM"}]
        them.snapshot(request.get(262), (0, "9.90", 5), (0, "9.95", 7), (1, "10.1", 3))
        traded = change(0, 2, "10.10", 1)
        stamp = ((278, "T1"), (272, "20260301"), (273, "09:08:07.065"))
        them.update(
            request.get(262),
            change(2, 0, "9.90"),
            change(1, 1, "10.10", 2),
            # Crossed within the message, which is no one's business.
            change(0, 0, "10.10", 4),
            change(2, 1, "10.10"),
            change(0, 1, "10.20", 9),
            (*traded, *stamp),
        )
        part(them)

    with counterpart(script) as port, client_for(port=port) as client:
        client.subscribe(["LUM"], depth=2, trades=True)
        assert [client.receive().type for _ in range(2)] == ["W", "X"]
        book = client.books["LUM"]
        assert book.ladder() == Ladder(
            (Level(1010, 4), Level(995, 7)), (Level(1020, 9),)
        )
        assert book.ladder(1).bids == (Level(1010, 4),)
        [trade] = book.trades
        assert (trade.id, trade.price, trade.quantity) == ("T1", 1010, 1)
        assert trade.at.isoformat() == "2026-03-01T09:08:07.065000+00:00"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (change(2, 0, "9.80"), "LUM: 279=2 269=0 270=9.80: no such level"),
        (change(1, 1, "9.90", 1), "LUM: 279=1 269=1 270=9.90: no such level"),
        (
            change(0, 0, "9.90", 1),
            "LUM: 279=0 269=0 270=9.90: the level already exists",
        ),
        (change(0, 0, "10.00", 1), "LUM: crossed: best bid 1000, best ask 1000"),
        (change(0, 0, "9.905", 1), "270=9.905 is not a whole number of cents"),
        (change(0, 0, "9.80"), "271= is not a positive number of units"),
    ],
)
def test_detects_what_no_book_can_be(entry, told):
    def script(them):
        them.welcome()
        request = them.hear().get(262)
        them.snapshot(request, (0, "9.90", 5), (1, "10.00", 3))
        them.update(request, entry)
        part(them)

    with counterpart(script) as port, client_for(port=port) as client:
        client.snapshots(["LUM"])
        with pytest.raises(Inconsistent, match=told):
            client.receive()


def test_raises_what_the_acceptor_rejects():
    def script(them):
        them.welcome()
        request = them.hear().get(262)
        them.say("Y", (262, request), (281, 0), (58, "unknown symbol NOPE"))
        part(them)

    with counterpart(script) as port, client_for(port=port) as client:
        with pytest.raises(Refused, match="^unknown symbol NOPE$") as refused:
            client.snapshots(["NOPE"])
        assert refused.value.answer.get(281) == "0"


def test_answers_a_test_request_and_a_resend_request():
    def script(them):
        them.welcome()
        them.say("1", (112, "still there"))
        answer = them.hear()
        assert (answer.type, answer.get(112)) == ("0", "still there")
        them.say("2", (7, 1), (16, 0))
        fill = them.hear()
        assert [fill.get(tag) for tag in (35, 34, 43, 123, 36)] == [*"41YY3"]
        part(them)

    said: list[bytes] = []
    with (
        counterpart(script) as port,
        client_for(port=port, on_send=said.append) as client,
    ):

        def is_answered() -> bool:
            assert client.receive(0.05) is None
            return [readable(raw).split("|")[2] for raw in said[1:]] == ["35=0", "35=4"]

        until(is_answered)


def test_keeps_the_session_alive_and_notices_its_death():
    def script(them):
        them.welcome()
        # Heartbeats for what it says no word itself; then the question.
        while (asked := them.hear()).type == "0":
            pass
        assert asked.type == "1"
        them.say("0", (112, asked.get(112)))
        while them.connection.recv(4096):
            pass

    with counterpart(script) as port:
        client = client_for(port=port, heartbeat=1)
        client.logon()
        began = time.monotonic()
        with pytest.raises(NoAnswer, match=r"nothing received for \d+ s"):
            client.receive(PATIENCE_SECONDS)
        assert time.monotonic() - began > 3.5
        client.close()


def test_takes_books_anew_after_a_gap():
    def script(them):
        them.welcome()
        first = them.hear().get(262)
        them.snapshot(first, (0, "9.90", 5))
        them.say("X", sequence=5)
        them.say("X", sequence=6)
        resend = them.hear()
        assert [resend.get(tag) for tag in (35, 7, 16)] == ["2", "3", "0"]
        them.say("4", (43, "Y"), (123, "Y"), (36, 7), sequence=3)
        them.sequence = 6
        # Of the book that the client missed a part of.
        them.update(first, change(2, 0, "1.00"))
        them.snapshot(first, (0, "9.80", 1))
        them.update(first, change(0, 0, "9.70", 2))
        part(them)

    with counterpart(script) as port, client_for(port=port) as client:
        client.snapshots(["LUM"])
        while "LUM" not in client.books or client.books["LUM"].ladder().bids != (
            Level(980, 1),
            Level(970, 2),
        ):
            assert client.receive(5)
        assert client.gaps == 1


def test_ends_a_session_whose_numbers_go_back():
    def script(them):
        them.welcome()
        them.say("0", sequence=1)
        assert them.hear().get(58) == "MsgSeqNum too low: 1 after 1"

    with counterpart(script) as port:
        client = client_for(port=port)
        client.logon()
        with pytest.raises(GarbledMessage, match="MsgSeqNum too low"):
            client.receive(5)
        client.close()


def test_tells_the_reason_of_a_logout():
    def script(them):
        them.welcome()
        them.say("5", (58, "slow consumer"))
        assert them.hear().type == "5"

    with counterpart(script) as port:
        client = client_for(port=port)
        client.logon()
        with pytest.raises(LoggedOut, match="^slow consumer$"):
            client.receive(5)


def test_tells_why_a_logon_was_refused():
    def script(them):
        them.hear()
        them.say("5", (58, "HeartBtInt(108) must be 5 to 60"))

    with (
        counterpart(script) as port,
        pytest.raises(LogonRefused, match=r"HeartBtInt\(108\)"),
    ):
        client_for(port=port).logon()


def test_tells_what_answers_when_it_is_not_fix():
    def script(them):
        them.hear()
        them.connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with counterpart(script) as port:
        client = client_for(port=port)
        with pytest.raises(NotFix, match=r"found b'HTTP/1.1 400 Bad Request"):
            client.logon()
        assert client.first.startswith(b"HTTP/1.1 400")


def test_tells_a_connection_that_is_closed_without_a_word():
    with (
        counterpart(lambda them: them.hear()) as port,
        pytest.raises(Disconnected, match="closed the connection"),
    ):
        client_for(port=port).logon()


def test_a_connection_that_ends_at_the_logon_is_closed():
    def end(raw: bytes) -> None:
        client.socket.shutdown(socket.SHUT_WR)

    with counterpart(lambda them: None) as port:
        client = client_for(port=port, on_send=end)
        with pytest.raises(Disconnected, match="the connection ended"):
            client.logon()
        assert client.socket is None


def test_tells_that_nobody_listens():
    with counterpart(lambda them: None) as port:
        socket.create_connection(("127.0.0.1", port)).close()
    with pytest.raises(NoConnection, match="refused"):
        client_for(port=port).logon()


def test_tells_that_the_other_side_speaks_no_tls():
    def script(them):
        them.connection.recv(4096)
        them.connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with (
        counterpart(script) as port,
        pytest.raises(NoConnection, match="WRONG_VERSION"),
    ):
        client_for(port=port, tls=tls_context()).logon()

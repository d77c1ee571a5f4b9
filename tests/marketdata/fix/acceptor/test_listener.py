"""The listener before the FIX engine: what it passes on, refuses and cuts."""

import gc
import logging
import os
import socket
import ssl
import struct
import threading
import time
from asyncio.sslproto import SSLProtocol
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
from django.db import connection, transaction

from accounts.keys.models import ApiKey
from accounts.keys.uses import uses
from marketdata.fix.acceptor import first_message as first_messages
from marketdata.fix.acceptor import listener as listeners
from marketdata.fix.acceptor import relay
from marketdata.fix.acceptor.listener import Listener
from marketdata.fix.acceptor.logon import (
    CREDENTIALS_REFUSED,
    TOO_MANY_FAILURES,
)
from marketdata.fix.acceptor.sockets import tls_context
from marketdata.fix.protocol import wire
from marketdata.fix.protocol.rules import TOO_LONG
from partnerapi.core import sparing_log
from partnerapi.core.addresses import address_of, source
from tests.marketdata.fix.engines import listening
from tests.marketdata.fix.peers import Partner, logon, message
from tests.owner import as_owner
from tests.waiting import PATIENCE_SECONDS, until

Start = Callable[..., Listener]
MOST_PASSED_BY = 100


@pytest.fixture
def start(any_port: None, caplog) -> Iterator[Start]:
    caplog.set_level(logging.DEBUG, "marketdata")
    with ExitStack() as started:

        def start(context: ssl.SSLContext | None = None) -> Listener:
            return started.enter_context(listening(context))

        yield start


def ping(partner: Partner, number: int = 2, text: str = "x" * 50) -> None:
    partner.send(message("1", number, (112, text)))
    while (answer := partner.receive()).get(112) != text:
        pass
    assert answer.type == "0"


def test_an_admitted_logon_reaches_the_engine_without_the_key(
    start, committed_key, caplog
):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key, t553="acme_co", t58="abc"))
        answer = partner.receive()
        assert [answer.get(tag) for tag in (35, 34, 108, 141)] == ["A", "1", "30", "Y"]
        ping(partner)
        [session] = listener.sessions.live.values()
        assert session.admission.login == "acme_co"
    until(lambda: not listener.sessions.live)
    seen = next(text for text in caplog.messages if "PARTNER001 < 8=" in text)
    tags = [field.partition("=")[0] for field in seen.partition(" < ")[2].split("|")]
    assert tags == [
        *["8", "9", "35", "34", "49", "52", "56", "98", "108", "141", "10"],
        "",
    ]
    assert committed_key not in caplog.text
    assert "PARTNER001 (acme_co) logs on from 127.0.0.1" in caplog.text


def test_bytes_that_follow_the_logon_are_passed_on(start, committed_key):
    listener = start()
    first, second = (message("1", n, (112, str(n))) for n in (2, 3))
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key) + first + second[:10])
        assert partner.receive().type == "A"
        assert partner.receive().get(112) == "2"
        partner.send(second[10:])
        assert partner.receive().get(112) == "3"


def test_a_logon_may_come_byte_by_byte(start, committed_key):
    listener = start()
    with Partner(listener.port) as partner:
        for byte in logon(committed_key):
            partner.send(bytes([byte]))
        assert partner.receive().type == "A"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"t554": "wrong"}, CREDENTIALS_REFUSED),
        ({"t49": "PARTNER003"}, CREDENTIALS_REFUSED),
        ({"t108": 3}, "HeartBtInt(108) must be 5 to 60 seconds"),
        (
            {"t52": "20010101-00:00:00"},
            "SendingTime(52) differs by more than 30 seconds",
        ),
    ],
)
def test_a_refused_logon_is_answered_by_a_logout(
    start, committed_key, changed, told, caplog
):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key, **changed) + b"8=FIX.4.4\x019=")
        logout = partner.receive()
        assert partner.is_cut()
    asked_for = changed.get("t49", "PARTNER001")
    assert [logout.get(t) for t in (35, 34, 49, 56)] == [
        "5", "1", "PARTNERAPI", asked_for
    ]  # fmt: skip
    assert told in logout.get(58)
    assert told in caplog.text
    assert committed_key not in caplog.text
    assert not listener.sessions.live


def test_says_that_keys_can_not_be_looked_up(start, committed_key, caplog):
    listener = start()
    with as_owner(), transaction.atomic(), Partner(listener.port) as partner:
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE accounts_apikey IN ACCESS EXCLUSIVE MODE")
        partner.send(logon(committed_key))
        assert "log on again in a minute" in partner.receive().get(58)
    assert "A Logon could not be checked: canceling statement" in caplog.text
    for _ in range(11):
        with Partner(listener.port) as partner:
            partner.send(logon(committed_key))
            assert partner.receive().type == "A"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.replace(b"FIX.4.4", b"FIX.3.9"), "not a well-formed FIX 4.4"),
        (lambda m: m.replace(b"\x019=1", b"\x019=4", 1), "no complete Logon"),
        (lambda m: m[:-4] + b"999\x01", "not a well-formed FIX 4.4"),
        (lambda m: b"GET / HTTP/1.1\r\n\r\n", "not a well-formed FIX 4.4"),
        (
            lambda m: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            "not a well-formed",
        ),
        (lambda m: wire.encode([(35, 0), (34, 1)]), "first message is not a Logon"),
        (lambda m: wire.encode([(35, "A"), (34, 1)]), "its Logon lacks tag 49"),
        (lambda m: wire.encode([(34, 1), (35, "A")]), "is not a Logon"),
        (lambda m: wire.encode([(35, "A"), (58, "x" * 4096)]), "longer than 4096"),
        (lambda m: wire.encode([(35, "A"), (554, 1), (554, 2)]), "has tag 554 twice"),
        (lambda m: wire.encode([(35, "A"), ("9" * 3900, 2)]), "not a well-formed"),
    ],
)
def test_what_is_no_logon_is_cut_without_a_word(
    start, committed_key, change, why, caplog, monkeypatch
):
    # The listener waits only for an incomplete Logon.
    waits = 0.5 if why == "no complete Logon" else PATIENCE_SECONDS
    monkeypatch.setattr(listeners, "LOGON_SECONDS", waits)
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(change(logon(committed_key)))
        assert partner.is_cut()
    until(lambda: "127.0.0.1 was disconnected: " in caplog.text)
    assert why in caplog.text
    assert committed_key not in caplog.text
    assert not listener.sessions.live


def test_who_asks_for_somebody_else_gets_no_answer(start, committed_key, caplog):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key, t56="DLSI"))
        assert partner.is_cut()
    assert (
        "127.0.0.1 was disconnected: TargetCompID(56) is not PARTNERAPI" in caplog.text
    )


def test_one_address_holds_a_limited_number_of_connections(start, settings, caplog):
    settings.FIX_CONNECTIONS_PER_ADDRESS = 3
    listener = start()
    with ExitStack() as stack:
        kept = [stack.enter_context(Partner(listener.port)) for _ in range(3)]
        with Partner(listener.port) as fourth:
            assert fourth.is_cut()
        assert "it holds 3 connections already" in caplog.text
        kept.pop().socket.close()
        until(lambda: listener.connections["127.0.0.1"] == 2)
        stack.enter_context(Partner(listener.port))
        until(lambda: listener.connections["127.0.0.1"] == 3)


def test_a_full_gate_lets_go_of_whom_it_has_waited_for_longest(
    start, committed_key, monkeypatch, settings
):
    settings.FIX_SESSIONS = 1
    monkeypatch.setattr(listeners, "MOST_WITHOUT_LOGON", 1)
    # No connection is cut for its silence.
    monkeypatch.setattr(listeners, "LOGON_SECONDS", 2 * PATIENCE_SECONDS)
    listener = start()
    with Partner(listener.port) as live, ExitStack() as stack:
        live.send(logon(committed_key))
        assert live.receive().type == "A"
        silent = [stack.enter_context(Partner(listener.port)) for _ in range(2)]
        until(lambda: listener.connections["127.0.0.1"] == 3)
        stack.enter_context(Partner(listener.port))
        assert silent[0].is_cut()
        ping(live)


def test_logons_that_wait_together_are_all_read(
    start, committed_key, monkeypatch, settings
):
    settings.FIX_SESSIONS, settings.FIX_CONNECTIONS_PER_ADDRESS = 1, 400
    monkeypatch.setattr(listeners, "MOST_WITHOUT_LOGON", 200)
    listener = start()
    is_over = threading.Event()
    listener.loop.call_soon_threadsafe(is_over.wait)
    with ExitStack() as stack:
        partners = [stack.enter_context(Partner(listener.port)) for _ in range(400)]
        for partner in partners:
            partner.send(logon("wrong"))
        is_over.set()
        answers = [partner.receive().type for partner in partners]
    assert answers == ["5"] * 400


@pytest.mark.parametrize("name", ["PARTNER001", "PARTNER002"])
def test_eleven_wrong_logons_are_looked_at_ten_times(
    start, committed_key, name, caplog
):
    listener = start()
    texts = []
    for _ in range(11):
        with Partner(listener.port) as partner:
            partner.send(logon("wrong", t49=name))
            texts.append(partner.receive().get(58))
    assert texts == [CREDENTIALS_REFUSED] * 10 + [TOO_MANY_FAILURES]


def test_a_flood_does_not_fill_the_log(start, committed_key, caplog, monkeypatch):
    monkeypatch.setattr(sparing_log, "LINE_SECONDS", 3600.0)
    listener = start()
    for _ in range(50):
        with Partner(listener.port) as partner:
            partner.send(logon("wrong"))
            partner.receive()
    lines = [line for line in caplog.messages if "was refused" in line]
    assert len(lines) == 1


def test_a_client_that_does_not_read_is_cut(start, committed_key, monkeypatch, caplog):
    """Its TestRequests cause more bytes than its sockets and the buffer hold."""
    monkeypatch.setattr(relay, "STALL_SECONDS", 0.5)
    listener = start()
    with Partner(listener.port) as slow, Partner(listener.port) as live:
        for partner, name in ((slow, "PARTNER002"), (live, "PARTNER001")):
            partner.send(logon(committed_key, t49=name))
            partner.receive()
        flood = threading.Thread(target=push_until_cut, args=(slow,))
        flood.start()
        for number in range(40):
            ping(live, number + 2)
        flood.join(PATIENCE_SECONDS)
        assert not flood.is_alive()
    until(lambda: "it read too slowly" in caplog.text)
    assert (
        "PARTNER002 (acme_co) was disconnected: it read too slowly for 0 s"
        in caplog.text
    )


def push_until_cut(slow: Partner) -> None:
    with suppress(OSError):
        for number in range(2, 1_000):
            asked = message("1", number, (112, "x" * 60_000))
            slow.send(resealed(asked.replace(b"PARTNER001", b"PARTNER002")))


def resealed(sent: bytes) -> bytes:
    """With the right CheckSum(10)."""
    return b"%s10=%03d\x01" % (sent[:-7], sum(sent[:-7]) % 256)


def test_a_message_without_an_end_is_cut(start, committed_key):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key))
        assert partner.receive().type == "A"
        with suppress(OSError):
            partner.send(b"8=FIX.4.4\x019=99999\x0135=0\x0158=" + b"x" * 70_000)
        assert partner.receive().get(58) == TOO_LONG


@pytest.mark.parametrize("pieces", [1, 40])
def test_a_message_that_announces_too_much_is_cut(start, committed_key, pieces):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key))
        assert partner.receive().type == "A"
        announced = b"8=FIX.4.4\x019=999999999\x0135=0\x0110=000\x01"
        step = -(-len(announced) // pieces)
        with suppress(OSError):
            for start_at in range(0, len(announced), step):
                partner.send(announced[start_at : start_at + step])
        assert partner.receive().get(58) == TOO_LONG


def test_a_client_that_ends_still_gets_what_it_is_owed(start, committed_key):
    listener = start()
    with Partner(listener.port) as partner:
        partner.send(logon(committed_key) + message("5", 2))
        partner.socket.shutdown(socket.SHUT_WR)
        assert [partner.receive().type for _ in range(2)] == ["A", "5"]
        assert partner.is_cut()


def test_stops_at_once_and_ends_everybody(start, committed_key, monkeypatch):
    monkeypatch.setattr(listeners, "LOGON_SECONDS", 2 * PATIENCE_SECONDS)
    listener = start()
    with Partner(listener.port) as live, Partner(listener.port) as silent:
        live.send(logon(committed_key))
        live.receive()
        stopping = threading.Thread(target=listener.stop)
        stopping.start()
        stopping.join(PATIENCE_SECONDS)
        assert not stopping.is_alive()
        assert live.is_cut()
        assert silent.is_cut()
    with pytest.raises(ConnectionRefusedError):
        Partner(listener.port)
    assert not listener.thread.is_alive()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_speaks_tls(start, committed_key, certificate, version):
    listener = start(tls_context(*map(str, certificate)))
    context = ssl.create_default_context(cafile=str(certificate[0]))
    context.minimum_version = context.maximum_version = version
    with Partner(listener.port, context) as partner:
        partner.send(logon(committed_key))
        assert partner.receive().type == "A"
        ping(partner)
    with Partner(listener.port, context) as wrong:
        wrong.send(logon("wrong"))
        assert wrong.receive().get(58) == CREDENTIALS_REFUSED
        assert wrong.is_cut()


def test_cuts_a_plain_or_silent_client_of_tls(
    start, committed_key, certificate, monkeypatch, caplog
):
    monkeypatch.setattr(listeners, "LOGON_SECONDS", 2 * PATIENCE_SECONDS)
    listener = start(tls_context(*map(str, certificate)))
    with Partner(listener.port) as plain:
        plain.send(logon(committed_key))
        assert plain.is_cut()
    monkeypatch.setattr(listeners, "LOGON_SECONDS", 0.5)
    with Partner(listener.port) as silent:
        assert silent.is_cut()
    assert "127.0.0.1 was disconnected: no complete Logon within" in caplog.text


def test_refuses_a_certificate_that_is_none(certificate, tmp_path):
    with pytest.raises(FileNotFoundError):
        tls_context(str(tmp_path / "missing.pem"), str(certificate[1]))
    with pytest.raises(ssl.SSLError):
        tls_context(str(certificate[1]), str(certificate[1]))


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_counts_connections_by_site(address, counted):
    assert source(address_of(address)) == counted


def test_silence_trickles_and_wrong_keys_do_not_hold_up_a_session(
    start, committed_key, settings
):
    """300 silent connections, a trickler, 200 wrong Logons: the session goes first.

    How long its gaps are on a quiet machine, tests.chaos.fix_neighbours measures.
    """
    settings.FIX_CONNECTIONS_PER_ADDRESS = 1000
    listener = start()
    with Partner(listener.port) as live, ExitStack() as stack:
        live.send(logon(committed_key))
        live.receive()
        refused: list[str] = []
        passed_by: list[int] = []
        over = threading.Event()

        def beat() -> None:
            while not over.is_set():
                before = len(refused)
                ping(live, len(passed_by) + 2)
                passed_by.append(len(refused) - before)
                time.sleep(0.06)

        def trickle(partner: Partner) -> None:
            for byte in logon(committed_key)[:6]:
                partner.send(bytes([byte]))
                time.sleep(0.1)

        def fail(number: int) -> None:
            with Partner(listener.port) as partner:
                partner.send(logon("wrong"))
                refused.append(partner.receive().get(58))

        beating = threading.Thread(target=beat)
        beating.start()
        silent = [stack.enter_context(Partner(listener.port)) for _ in range(300)]
        with ThreadPoolExecutor(8) as pool:
            pool.submit(trickle, silent[0])
            list(pool.map(fail, range(200)))
        over.set()
        beating.join()
        assert len(refused) == 200
        assert set(refused) == {CREDENTIALS_REFUSED, TOO_MANY_FAILURES}
        # Few Logons are judged while one message passes.
        assert max(passed_by) <= MOST_PASSED_BY
    assert ApiKey.objects.get().pk in uses.noted


def tls_connections() -> int:
    # isinstance() would ask lazy objects of other tests for their class.
    return sum(issubclass(type(one), SSLProtocol) for one in gc.get_objects())


def client_hello() -> bytes:
    """The first bytes of a TLS handshake."""
    sent = ssl.MemoryBIO()
    context = ssl.create_default_context()
    hello = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    return sent.read()


def reset(partner: Partner) -> None:
    """End a connection with a RST, and read nothing more."""
    at_once = struct.pack("ii", 1, 0)
    partner.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    partner.socket.close()


def cut(partner: Partner) -> None:
    """Read to the end that the acceptor makes."""
    with suppress(OSError):
        while partner.socket.recv(65536):
            pass


def close(partner: Partner) -> None:
    partner.socket.close()


def shut(partner: Partner) -> None:
    """End a TLS connection in good order."""
    with suppress(OSError):
        assert isinstance(partner.socket, ssl.SSLSocket)
        partner.socket.unwrap()


def spoil(partner: Partner) -> None:
    """Send bytes that are no record of TLS."""
    os.write(partner.socket.fileno(), b"no record of TLS" * 4)


def log_on(partner: Partner, key: str) -> None:
    partner.send(logon(key))
    assert partner.receive().type == "A"


ENDS = {"cut": cut, "closes": close, "resets": reset}
WRONG_KEY = logon("wrong")
NOT_TLS = None
"""Instead of bytes to send."""
BEGINNINGS: dict[str, list[bytes | None]] = {
    "nothing": [],
    "a half message": [WRONG_KEY[:40]],
    "no FIX": [b"GET / HTTP/1.1\r\n\r\n"],
    "no Logon": [message("0", 1)],
    "no record of TLS": [NOT_TLS],
    "a wrong key": [WRONG_KEY],
    "a wrong key, and no record of TLS": [WRONG_KEY, NOT_TLS],
}
IN_SESSIONS: dict[str, list[bytes | None]] = {
    "nothing": [],
    "a Logout": [message("5", 2)],
    "a Logon": [message("A", 2, (98, 0), (108, 30))],
    "no record of TLS": [NOT_TLS],
    "too long a message": [b"8=FIX.4.4\x019=99999999\x0135=0\x01"],
    "too many messages": [b"".join(message("0", n) for n in range(2, 100))],
}


def send_each(partner: Partner, parts: list[bytes | None]) -> None:
    for part in parts:
        if part is NOT_TLS:
            spoil(partner)
        else:
            partner.send(part)


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def tls_listener(start, certificate, monkeypatch) -> Listener:
    for module in (listeners, first_messages):
        monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(listeners, "LOGON_SECONDS", 0.5)
    monkeypatch.setattr(relay, "ALIVE_SECONDS", 0.1)
    return start(tls_context(*map(str, certificate)))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("sent", ["", "no record of TLS", "half a hello", "a hello"])
def test_no_garbage_is_left_of_a_spoilt_handshake(
    tls_listener, without_collections, sent, end
):
    hello = client_hello()
    data = {"": b"", "half a hello": hello[:100], "a hello": hello}
    for _ in range(3):
        with Partner(tls_listener.port) as partner:
            partner.send(data.get(sent, sent.encode() * 4))
            ENDS[end](partner)
    until(lambda: not tls_listener.tasks)
    until(lambda: not tls_connections())


@pytest.mark.parametrize("end", [*ENDS, "shuts"])
@pytest.mark.parametrize("sent", BEGINNINGS)
def test_no_garbage_is_left_of_a_tls_connection(
    tls_listener, certificate, without_collections, sent, end
):
    context = ssl.create_default_context(cafile=str(certificate[0]))
    for _ in range(3):
        with Partner(tls_listener.port, context) as partner:
            send_each(partner, BEGINNINGS[sent])
            (ENDS | {"shuts": shut})[end](partner)
    until(lambda: not tls_listener.tasks)
    until(lambda: not tls_connections())


@pytest.mark.parametrize(
    ("sent", "end"),
    [
        (sent, end)
        for sent in IN_SESSIONS
        for end in [*ENDS, "shuts"]
        # Of a session that sends nothing, the acceptor ends nothing.
        if (sent, end) != ("nothing", "cut")
    ],
)
def test_no_garbage_is_left_of_a_session_over_tls(
    tls_listener, committed_key, certificate, without_collections, sent, end
):
    context = ssl.create_default_context(cafile=str(certificate[0]))
    for _ in range(3):
        with Partner(tls_listener.port, context) as partner:
            log_on(partner, committed_key)
            send_each(partner, IN_SESSIONS[sent])
            (ENDS | {"shuts": shut})[end](partner)
        until(lambda: not tls_listener.tasks)
    until(lambda: not tls_connections())

"""Partners behind a proxy are known by the address that the proxy states."""

import contextlib
import logging
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from marketdata.fix.acceptor.first_message import Cut
from marketdata.fix.acceptor.listener import Listener
from marketdata.fix.acceptor.logon import ELSEWHERE
from marketdata.fix.acceptor.proxy_protocol import address_in
from marketdata.fix.acceptor.sockets import tls_context
from marketdata.models import FixSession
from partnerapi.core.addresses import address_of
from tests.marketdata.fix.engines import listening
from tests.marketdata.fix.peers import Partner, logon

FIRST, SECOND, SITE = "203.0.113.9", "198.51.100.3", "203.0.113.0/24"
PROXY = address_of("127.0.0.1")


class Forwarder(socketserver.ThreadingTCPServer):
    """A proxy on loopback, which first states the address of each connection."""

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), Forwarded)
        self.target = ("127.0.0.1", target)
        self.line = b""


class Forwarded(socketserver.BaseRequestHandler):
    server: Forwarder

    def handle(self) -> None:
        with socket.create_connection(self.server.target) as there:
            there.sendall(self.server.line)
            back = threading.Thread(target=pour, args=(there, self.request))
            back.start()
            pour(self.request, there)
            back.join()


def pour(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def listener(
    any_port: None, settings: Any, certificate: tuple[Path, Path], caplog: Any
) -> Iterator[Listener]:
    settings.FIX_TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    caplog.set_level(logging.INFO, "marketdata")
    with listening(tls_context(*map(str, certificate))) as listener:
        yield listener


@pytest.fixture
def connect(
    listener: Listener, certificate: tuple[Path, Path]
) -> Iterator[Callable[[str], Partner]]:
    """Connects through the proxy, which states this address."""
    forwarder = Forwarder(listener.port)
    serving = threading.Thread(target=forwarder.serve_forever, args=(0.05,))
    serving.start()
    context = ssl.create_default_context(cafile=str(certificate[0]))

    with contextlib.ExitStack() as stack:

        def connect(address: str) -> Partner:
            family = "TCP6" if ":" in address else "TCP4"
            line = f"PROXY {family} {address} 192.0.2.1 56324 9878\r\n"
            forwarder.line = line.encode()
            port = forwarder.server_address[1]
            return stack.enter_context(Partner(port, context))

        yield connect
    forwarder.shutdown()
    serving.join()
    # Waits for its connections, which the listener has cut or the test has closed.
    forwarder.server_close()


def test_a_comp_id_is_taken_from_its_networks_only(connect, committed_key, caplog):
    FixSession.objects.filter(comp_id="PARTNER001").update(sources=[SITE])
    partner = connect(FIRST)
    partner.send(logon(committed_key))
    assert partner.receive().type == "A"
    assert f"PARTNER001 (acme_co) logs on from {FIRST}" in caplog.text

    stranger = connect(SECOND)
    stranger.send(logon(committed_key))
    refused = stranger.receive()
    assert (refused.type, refused.get(58)) == ("5", ELSEWHERE.format(address=SECOND))
    assert f"Logon of 'PARTNER001' from {SECOND} was refused" in caplog.text

    other = connect(SECOND)
    other.send(logon(committed_key, t49="PARTNER002"))
    assert other.receive().type == "A"


def test_connections_are_counted_by_the_address_that_is_told(
    connect, committed_key, settings
):
    settings.FIX_CONNECTIONS_PER_ADDRESS = 1
    partner = connect(FIRST)
    partner.send(logon(committed_key))
    assert partner.receive().type == "A"
    with pytest.raises(OSError):  # noqa: PT011
        # Cut before its handshake.
        connect(FIRST)
    other = connect(SECOND)
    other.send(logon(committed_key, t49="PARTNER002"))
    assert other.receive().type == "A"


@pytest.mark.parametrize("sent", [b"\x16\x03\x01" + b"x" * 200, b"PROXY\r\n"])
def test_a_proxy_without_the_line_is_cut(listener, sent, caplog):
    with Partner(listener.port) as partner:
        partner.send(sent)
        assert partner.is_cut()
    assert "The proxy 127.0.0.1 was disconnected" in caplog.text


@pytest.mark.parametrize(
    ("line", "address"),
    [
        (b"PROXY TCP4 203.0.113.9 192.0.2.1 56324 443\r\n", "203.0.113.9"),
        (b"PROXY TCP6 2001:db8::9 2001:db8::1 56324 443\r\n", "2001:db8::9"),
        (b"PROXY TCP6 ::ffff:203.0.113.9 ::1 56324 443\r\n", "203.0.113.9"),
        (b"PROXY UNKNOWN\r\n", "127.0.0.1"),
        (b"PROXY UNKNOWN ffff:f...f:ffff 65535\r\n", "127.0.0.1"),
    ],
)
def test_reads_the_line(line, address):
    assert address_in(line, PROXY) == address_of(address)


@pytest.mark.parametrize(
    "line",
    [
        b"\r\n",
        b"PROXY TCP4 203.0.113.9 192.0.2.1 56324\r\n",
        b"PROXY TCP4 2001:db8::9 192.0.2.1 56324 443\r\n",
        b"PROXY TCP6 203.0.113.9 192.0.2.1 56324 443\r\n",
        b"PROXY TCP4 203.0.113 192.0.2.1 56324 443\r\n",
        b"PROXY UDP4 203.0.113.9 192.0.2.1 56324 443\r\n",
        b"GET / HTTP/1.1\r\n",
        b"\xff\xfe\r\n",
    ],
)
def test_refuses_other_lines(line):
    with pytest.raises(Cut):
        address_in(line, PROXY)

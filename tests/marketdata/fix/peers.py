"""Both sides of the listener: an engine that echoes, and a partner's socket."""

import contextlib
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from marketdata.fix.protocol import wire
from tests.waiting import PATIENCE_SECONDS

HOST = "127.0.0.1"


class Echo(socketserver.ThreadingTCPServer):
    """Takes Logons as an engine does: notes each, and sends back all that it reads."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), EchoedConnection)
        self.logons: list[wire.Message] = []
        self.ended = threading.Event()
        self.connections: list[socket.socket] = []
        self.begun: list[float] = []
        """When each connection came, those that were refused, too."""
        self.refusals = 0
        """How many connections it is yet to close without a word."""

    @property
    def port(self) -> int:
        return self.server_address[1]


class EchoedConnection(socketserver.BaseRequestHandler):
    server: Echo

    def handle(self) -> None:
        self.server.begun.append(time.monotonic())
        if self.server.refusals:
            self.server.refusals -= 1
            return
        self.server.connections.append(self.request)
        decoder: wire.Decoder | None = wire.Decoder()
        with contextlib.suppress(OSError):
            while data := self.request.recv(65536):
                if decoder is not None:
                    decoder.feed(data)
                    if (message := decoder.next()) is not None:
                        self.server.logons.append(message)
                        decoder = None
                self.request.sendall(data)
        self.server.ended.set()


@contextlib.contextmanager
def echo() -> Iterator[Echo]:
    with Echo() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Partner:
    """A plain or TLS socket that speaks FIX; every wait is bounded."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.socket = socket.create_connection((HOST, port), PATIENCE_SECONDS)
        if context:
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.decoder = wire.Decoder()

    def __enter__(self) -> "Partner":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> wire.Message:
        while (message := self.decoder.next()) is None:
            data = self.socket.recv(65536)
            assert data, "the connection was closed"
            self.decoder.feed(data)
        return message

    def is_cut(self) -> bool:
        """Whether the other side ends the connection, without another byte."""
        try:
            return self.socket.recv(1) == b"" and not self.decoder.buffer
        except ConnectionResetError:
            return True


def logon(token: str, **changed: object) -> bytes:
    """A Logon on the wire, with tags changed (t49="…") or left out (t49=None)."""
    fields: dict[int, object] = {
        35: "A",
        34: 1,
        49: "PARTNER001",
        52: wire.utc_timestamp(datetime.now(UTC)),
        56: "PARTNERAPI",
        98: 0,
        108: 30,
        141: "Y",
        554: token,
    }
    fields |= {int(name[1:]): value for name, value in changed.items()}
    return wire.encode([(t, v) for t, v in fields.items() if v is not None])

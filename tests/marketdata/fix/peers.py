"""A partner's socket, for what no client sends."""

import socket
import ssl
from datetime import UTC, datetime

from marketdata.fix.protocol import wire
from tests.waiting import PATIENCE_SECONDS

HOST = "127.0.0.1"


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


def message(type_: str, number: int, *fields: tuple[int, object]) -> bytes:
    """A message of PARTNER001 on the wire."""
    return wire.encode(
        [
            (35, type_),
            (34, number),
            (49, "PARTNER001"),
            (52, wire.utc_timestamp(datetime.now(UTC))),
            (56, "PARTNERAPI"),
            *fields,
        ]
    )


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

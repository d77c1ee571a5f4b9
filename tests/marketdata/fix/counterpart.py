"""The other end of a FIX session, for acts that our acceptor never performs."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from marketdata.fix.protocol.wire import Decoder, Message, encode, utc_timestamp
from tests.waiting import PATIENCE_SECONDS


class Counterpart:
    """One accepted connection, numbered like an acceptor's."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.decoder = Decoder()
        self.sequence = 0

    def say(self, type_: str, *fields: tuple[int, object], sequence: int = 0) -> None:
        self.sequence = sequence or self.sequence + 1
        header = [
            *((35, type_), (34, self.sequence), (49, "THEM")),
            *((52, utc_timestamp(datetime.now(UTC))), (56, "US")),
        ]
        self.connection.sendall(encode([*header, *fields]))

    def hear(self) -> Message:
        while (message := self.decoder.next()) is None:
            data = self.connection.recv(65536)
            assert data, "the client closed the connection"
            self.decoder.feed(data)
        return message

    def welcome(self) -> Message:
        logon = self.hear()
        self.say("A", (98, 0), (108, logon.get(108)), (141, "Y"))
        return logon

    def snapshot(self, request: str, *levels: tuple[int, str, int]) -> None:
        entries = [
            field
            for side, price, quantity in levels
            for field in ((269, side), (270, price), (15, "EUR"), (271, quantity))
        ]
        self.say("W", (262, request), (55, "LUM"), (268, len(levels)), *entries)

    def update(self, request: str, *entries: tuple[tuple[int, object], ...]) -> None:
        fields = [field for entry in entries for field in entry]
        self.say("X", (262, request), (268, len(entries)), *fields)


def change(action: int, side: int, price: str, quantity: int = 0):
    """An entry of X."""
    fields = [(279, action), (269, side), (55, "LUM"), (270, price)]
    return (*fields, *([(15, "EUR"), (271, quantity)] if quantity else []))


@contextmanager
def counterpart(script: Callable[[Counterpart], None]) -> Iterator[int]:
    """The port on which one connection meets the script; its failure is raised."""
    failures: list[BaseException] = []

    def serve() -> None:
        try:
            connection, _ = server.accept()
            with connection:
                connection.settimeout(PATIENCE_SECONDS)
                script(Counterpart(connection))
        except (AssertionError, OSError) as failure:
            failures.append(failure)

    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_SECONDS)
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()
    if failures:
        raise failures[0]

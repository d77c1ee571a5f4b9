"""Stands between a partner's program and the acceptor, and numbers both anew.

So messages can be inserted and omitted, and both sides stay in sequence. Standard
library only.
"""

import selectors
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Protocol

from marketdata.fix.protocol.wire import (
    Decoder,
    GarbledMessage,
    Message,
    encode,
    utc_timestamp,
)

CONNECT_SECONDS = 10.0
TICK_SECONDS = 0.1
REFERS = ("3", "j")
"""Types whose RefSeqNum(45) names one of the program's messages."""

Fields = Sequence[tuple[int, object]]


class Judge(Protocol):
    """Sees passing messages; two of its methods decide whether to pass each on."""

    def may_connect(self, place: int) -> bool: ...
    def judge_received(self, message: Message) -> bool: ...
    def judge_sent(self, message: Message) -> bool: ...
    def judge_garbled(self, problem: str) -> None: ...


class Line:
    """One connection; its messages are numbered from 1."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.decoder = Decoder()
        self.sent = 0

    def read(self) -> bool:
        """Read the arrived bytes; False: the connection has ended."""
        try:
            data = self.connection.recv(65536)
            while isinstance(self.connection, ssl.SSLSocket) and (
                left := self.connection.pending()
            ):
                data += self.connection.recv(left)
        except OSError:
            return False
        self.decoder.feed(data)
        return bool(data)

    def send(self, fields: Iterable[tuple[int, object]]) -> None:
        """Send a message under the next number."""
        self.sent += 1
        self.transmit(self.sent, fields)

    def transmit(self, number: int, fields: Iterable[tuple[int, object]]) -> None:
        message = encode((tag, number if tag == 34 else v) for tag, v in fields)
        try:
            self.connection.sendall(message)
        except OSError:
            # The next read detects the end.
            return


class Relay:
    """Takes the program at `places`, one connection at a time.

    `acceptor` connects to the acceptor.
    """

    def __init__(
        self,
        places: Sequence[socket.socket],
        acceptor: Callable[[], socket.socket],
        judge: Judge,
    ) -> None:
        self.places = places
        self.connect = acceptor
        self.judge = judge
        self.program: Line | None = None
        self.acceptor: Line | None = None
        self.comp_ids: tuple[object, object] = ("", "")
        # The number that the acceptor sees → the program's own.
        self.numbers: dict[int, int] = {}
        self.selector = selectors.DefaultSelector()
        for number, place in enumerate(places):
            self.selector.register(place, selectors.EVENT_READ, number)

    def close(self) -> None:
        self.hang_up()
        self.selector.close()
        for place in self.places:
            place.close()

    def wait(self, reached: Callable[[], object], seconds: float) -> bool:
        """Pass messages on until the state is reached; False: the time ended first."""
        deadline = time.monotonic() + seconds
        while not reached():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self.selector.select(min(left, TICK_SECONDS)):
                self.serve(key.data)
        return True

    def serve(self, what: object) -> None:
        if isinstance(what, int):
            self.take(what)
        elif what is self.program and self.program:
            self.read(self.program, self.pass_in)
        elif what is self.acceptor and self.acceptor:
            self.read(self.acceptor, self.pass_out)

    def take(self, place: int) -> None:
        connection, _ = self.places[place].accept()
        if self.program or not self.judge.may_connect(place):
            connection.close()
            return
        connection.settimeout(CONNECT_SECONDS)
        self.program, self.acceptor = Line(connection), Line(self.connect())
        self.numbers.clear()
        for line in (self.program, self.acceptor):
            self.selector.register(line.connection, selectors.EVENT_READ, line)

    def read(self, line: Line, pass_on: Callable[[Message], None]) -> None:
        goes_on = line.read()
        while self.program:
            try:
                message = line.decoder.next()
                if message is None:
                    break
                pass_on(message)
            except GarbledMessage as problem:
                self.judge.judge_garbled(str(problem))
        if not goes_on:
            self.hang_up()

    def hang_up(self) -> None:
        """End both connections."""
        for line in (self.program, self.acceptor):
            if line:
                self.selector.unregister(line.connection)
                line.connection.close()
        self.program = self.acceptor = None

    def pass_in(self, message: Message) -> None:
        if message.type == "A":
            self.comp_ids = message.get(56), message.get(49)
        if self.judge.judge_received(message) and self.acceptor:
            self.acceptor.send(message.fields[2:-1])
            self.numbers[self.acceptor.sent] = message.sequence

    def pass_out(self, message: Message) -> None:
        fields: Fields = message.fields[2:-1]
        if message.type in REFERS:
            own = self.numbers.get(message.number(45), 0)
            fields = [(tag, own if tag == 45 else value) for tag, value in fields]
        if self.judge.judge_sent(message) and self.program:
            self.program.send(fields)

    def say(self, type_: str, *body: tuple[int, object], number: int = 0) -> None:
        """Send the program our own message; with a number, one that is not new."""
        if self.program is None:
            return
        us, them = self.comp_ids
        at = utc_timestamp(datetime.now(UTC))
        fields = [(35, type_), (34, 0), (49, us), (52, at), (56, them), *body]
        if number:
            self.program.transmit(number, fields)
        else:
            self.program.send(fields)

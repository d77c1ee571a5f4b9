"""The initiator's side of a FIX 4.4 session, on a blocking socket.

Standard library only. One thread uses a session: it answers Heartbeats, TestRequests
and gaps while it receives.
"""

import contextlib
import itertools
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from marketdata.fix.protocol.wire import (
    Decoder,
    GarbledMessage,
    Message,
    encode,
    read_timestamp,
    utc_timestamp,
)

HEARTBEAT_SECONDS = 30
ANSWER_SECONDS = 10.0
HTTP_SECONDS = 1.0
SILENCE, DEATH = 1.2, 2.4
"""Heartbeat intervals without a byte: then a TestRequest; then the end."""


class FixFailure(Exception):
    """There is no session, or it has ended. The message says why."""


class NoConnection(FixFailure):
    """TCP or TLS could not be established."""


class Disconnected(FixFailure):
    """The other side closed the connection without a message."""


class NotFix(FixFailure):
    """The other side does not speak FIX 4.4; `first` of the client has its bytes."""


class LoggedOut(FixFailure):
    """The other side ended the session; `text` is its reason, Text(58)."""

    def __init__(self, logout: Message) -> None:
        self.text = logout.get(58)
        super().__init__(self.text or "Logout without a Text(58)")


class LogonRefused(LoggedOut):
    """A Logout in answer to the Logon."""


class NoAnswer(FixFailure):
    """No message came in time."""


def tls_context(authorities: str | None = None) -> ssl.SSLContext:
    """TLS that verifies the acceptor by the system's authorities and a file's.

    A self-signed certificate is its own authority.

    Raises:
        OSError: the file cannot be read; ssl.SSLError: it holds no certificate.
    """
    context = ssl.create_default_context()
    if authorities is not None:
        context.load_verify_locations(authorities)
    return context


@dataclass(eq=False, kw_only=True)
class Initiator:
    """One session; its sequence numbers start anew with each Logon (141=Y).

    `sender` is our CompID (49), `target` theirs (56), `key` the whole API key (554).
    `on_receive` and `on_send` are called with the bytes of each message.
    """

    host: str
    port: int
    sender: str
    target: str
    key: str = field(repr=False)
    tls: ssl.SSLContext | None = None
    heartbeat: int = HEARTBEAT_SECONDS
    on_receive: Callable[[bytes], object] = lambda raw: None
    on_send: Callable[[bytes], object] = lambda raw: None

    first: bytes = field(default=b"", init=False)
    """The first bytes that came: they tell what answers, where it is not FIX."""
    clock_difference: float | None = field(default=None, init=False)
    """Seconds by which our clock was ahead of the acceptor's at the Logon."""
    gaps: int = field(default=0, init=False)
    """How often messages were missed; they are not sent again."""
    sent: int = field(default=0, init=False)
    expected: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self.socket: socket.socket | None = None
        self.decoder = Decoder()
        self.filling_gap = self.tested = self.leaving = False
        self.last_in = self.last_out = 0.0
        self.numbers = itertools.count(1)

    def __enter__(self) -> Self:
        self.logon()
        return self

    def __exit__(self, *raised: object) -> None:
        # The caller has ended the session. Failures no longer matter to it.
        with contextlib.suppress(FixFailure, GarbledMessage):
            self.logout()
        self.close()

    def connect(self) -> None:
        """Raises NoConnection: what failed, as the system tells it."""
        try:
            self.socket = socket.create_connection(
                (self.host, self.port), ANSWER_SECONDS
            )
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls is not None:
                self.socket = self.tls.wrap_socket(
                    self.socket, server_hostname=self.host
                )
        except OSError as error:
            self.close()
            raise NoConnection(str(error)) from error
        self.last_in = self.last_out = time.monotonic()

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None

    def logon(self) -> Message:
        """Connect and log on; the Logon that answers.

        Raises:
            NoConnection, Disconnected, NotFix, LogonRefused, NoAnswer.
        """
        self.decoder = Decoder()
        self.sent, self.expected = 0, 1
        self.filling_gap = self.tested = self.leaving = False
        self.first = b""
        self.connect()
        try:
            self.send(
                "A",
                (98, 0),
                (108, self.heartbeat),
                (141, "Y"),
                (554, self.key),
            )
            return self.await_logon()
        except FixFailure:
            self.close()
            raise

    def await_logon(self) -> Message:
        try:
            message = self.read(time.monotonic() + ANSWER_SECONDS)
        except GarbledMessage as error:
            raise NotFix(str(error)) from error
        if message is None:
            if self.speaks_http():
                raise NotFix("it answers in HTTP")
            raise NoAnswer(f"no answer to the Logon within {ANSWER_SECONDS:.0f} s")
        self.measure_clock(message)
        if message.type == "5":
            raise LogonRefused(message)
        if message.type != "A":
            raise NotFix(f"the first answer is not a Logon: {message!r}")
        self.expected = message.sequence + 1
        return message

    def speaks_http(self) -> bool:
        """Whether the other side waits for the end of a line, unlike FIX."""
        assert self.socket is not None
        with contextlib.suppress(OSError):
            self.socket.settimeout(HTTP_SECONDS)
            self.socket.sendall(b"\r\n\r\n")
            self.first = self.socket.recv(4096)
        return self.first.startswith((b"HTTP/", b"<"))

    def measure_clock(self, message: Message) -> None:
        """Note by how many seconds our clock is ahead of SendingTime(52)."""
        with contextlib.suppress(ValueError):
            theirs = read_timestamp(message.get(52))
            self.clock_difference = (datetime.now(UTC) - theirs).total_seconds()

    def logout(self, text: str = "") -> None:
        """End the session in order: send a Logout, and wait for its answer."""
        if self.socket is None:
            return
        self.leaving = True
        self.send("5", *([(58, text)] if text else []))
        deadline = time.monotonic() + ANSWER_SECONDS
        with contextlib.suppress(LoggedOut, Disconnected):
            while (message := self.read(deadline)) is not None:
                self.handle(message)
        self.close()

    def send(self, type_: str, *fields: tuple[int, object]) -> None:
        self.sent += 1
        self.transmit(type_, self.sent, fields)

    def transmit(
        self, type_: str, sequence: int, fields: Iterable[tuple[int, object]]
    ) -> None:
        message = encode(
            [
                (35, type_),
                (34, sequence),
                (49, self.sender),
                (52, utc_timestamp(datetime.now(UTC))),
                (56, self.target),
                *fields,
            ]
        )
        if self.socket is None:
            raise Disconnected("there is no connection")
        self.on_send(message)
        try:
            self.socket.settimeout(ANSWER_SECONDS)
            self.socket.sendall(message)
        except TimeoutError:
            raise NoAnswer("the other side does not read") from None
        except OSError as error:
            raise Disconnected(f"the connection ended: {error}") from error
        self.last_out = time.monotonic()

    def receive(self, seconds: float = ANSWER_SECONDS) -> Message | None:
        """The next message of the application (and Reject(3)); None when none comes.

        Raises:
            Disconnected, LoggedOut, NoAnswer: the session is over.
            GarbledMessage: what came is wrong.
        """
        deadline = time.monotonic() + seconds
        while (message := self.read(deadline)) is not None:
            if self.handle(message):
                return message
        return None

    def read(self, deadline: float) -> Message | None:
        """The next message of any kind, keeping up heartbeats meanwhile."""
        while (message := self.decoder.next()) is None:
            now = time.monotonic()
            if now >= deadline:
                return None
            self.keep_alive(now)
            if self.socket is None:
                raise Disconnected("there is no connection")
            self.socket.settimeout(min(deadline - now, self.heartbeat / 10))
            try:
                data = self.socket.recv(65536)
            except TimeoutError:
                continue
            except OSError as error:
                raise Disconnected(f"the connection ended: {error}") from error
            if not data:
                raise Disconnected("the other side closed the connection")
            self.last_in = time.monotonic()
            self.tested = False
            self.first = self.first or data
            self.decoder.feed(data)
        self.on_receive(message.raw)
        return message

    def keep_alive(self, now: float) -> None:
        silent = now - self.last_in
        if silent > DEATH * self.heartbeat:
            raise NoAnswer(f"nothing received for {silent:.0f} s")
        if silent > SILENCE * self.heartbeat and not self.tested:
            self.tested = True
            self.send("1", (112, f"TEST{next(self.numbers)}"))
        elif now - self.last_out >= self.heartbeat:
            self.send("0")

    def handle(self, message: Message) -> bool:
        """Handle session messages; returns whether the message is the application's."""
        if message.type == "4":
            self.reset_sequence(message)
            return False
        if message.type == "5":
            raise self.answer_logout(message)
        if message.sequence > self.expected:
            if not self.filling_gap:
                self.filling_gap = True
                self.send("2", (7, self.expected), (16, 0))
            # The answer to the ResendRequest covers the skipped messages.
            return False
        if message.sequence < self.expected:
            if message.get(43) == "Y":
                return False
            reason = f"MsgSeqNum too low: {message.sequence} after {self.expected - 1}"
            self.send("5", (58, reason))
            raise GarbledMessage(reason)
        self.expected += 1
        match message.type:
            case "0" | "A":
                return False
            case "1":
                self.send("0", (112, message.get(112)))
                return False
            case "2":
                # None of our messages needs to be sent again.
                begin = message.number(7)
                gap_fill = [(43, "Y"), (123, "Y"), (36, self.sent + 1)]
                self.transmit("4", begin, gap_fill)
                return False
        return True

    def reset_sequence(self, message: Message) -> None:
        """SequenceReset(4), which answers a ResendRequest: messages were left out."""
        self.expected = max(self.expected, message.number(36))
        self.filling_gap = False
        self.gaps += 1

    def answer_logout(self, message: Message) -> LoggedOut:
        if not self.leaving:
            with contextlib.suppress(FixFailure):
                self.send("5")
        self.close()
        return LoggedOut(message)

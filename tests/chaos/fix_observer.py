"""A FIX client of its own making, which notes what it receives and judges nothing.

Standard library only, and nothing of the product: it shares no error with what it
observes. It fails over, loses messages on purpose, asks for them, asks for what it has,
and changes its subscriptions.
"""

import itertools
import random
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

SOH = b"\x01"
TRAILER = len(b"10=000\x01")
WAIT_SECONDS, SILENT_SECONDS, LOGON_SECONDS = 0.05, 15.0, 12.0
BEAT_SECONDS = 4.0
ACT_SECONDS = 0.4
"""Between two acts of a client, on average."""
DEPTHS = (1, 5, 20, 50)
SIDES = (b"01", b"01", b"0", b"1")
REFRESHING = 0.25
"""The share of requests with MDUpdateType(265)=0."""
MOST_REQUESTS = 6

Fields = list[tuple[int, bytes]]


class Ended(Exception):
    """The session is over; or it was refused."""


class Faulty(Exception):
    """A message that may not have come."""


class Request(NamedTuple):
    """A MarketDataRequest; `sides` has the digits of MDEntryType(269)."""

    symbols: tuple[str, ...]
    depth: int
    sides: bytes
    refreshes: bool


GAP: Fields = []
"""Stands where messages were asked for: a W of each book comes next."""


@dataclass
class Connection:
    """What came on one connection, in order: W and X as fields, and GAP.

    `acceptor` is its place among the ports. `ended`: names of requests that were ended.
    """

    acceptor: int
    is_numbered: bool
    requests: dict[bytes, Request] = field(default_factory=dict)
    ended: set[bytes] = field(default_factory=set)
    received: list[Fields] = field(default_factory=list)
    fault: str = ""


def cut(data: bytes) -> tuple[list[Fields], bytes]:
    """The whole messages that these bytes begin with, and the bytes after them.

    Raises:
        Faulty: a length or a checksum is wrong.
    """
    found: list[Fields] = []
    while True:
        begin = data.find(b"\x019=")
        end_of_length = data.find(SOH, begin + 1)
        if begin < 0 or end_of_length < 0:
            return found, data
        body_end = end_of_length + 1 + int(data[begin + 3 : end_of_length])
        end = body_end + TRAILER
        if len(data) < end:
            return found, data
        if data[body_end:end] != b"10=%03d\x01" % (sum(data[:body_end]) % 256):
            raise Faulty(f"a wrong length or checksum: {data[:end]!r}")
        fields = (one.split(b"=", 1) for one in data[:body_end].split(SOH)[:-1])
        found.append([(int(tag), value) for tag, value in fields])
        data = data[end:]


def value(fields: Fields, tag: int) -> bytes:
    return next((text for known, text in fields if known == tag), b"")


class Observer(threading.Thread):
    """A CompID's client; `ports` are those of the acceptors of a group.

    `stopped`: it observes without acts from then on; `leaving`: it ends.
    """

    def __init__(
        self,
        ports: list[int],
        comp_id: str,
        key: str,
        symbols: list[str],
        is_numbered: bool,
        dice: random.Random,
    ) -> None:
        super().__init__(daemon=True)
        self.ports = ports
        self.comp_id, self.key = comp_id.encode(), key.encode()
        self.symbols = symbols
        self.is_numbered = is_numbered
        self.dice = dice
        self.done: Counter[str] = Counter()
        self.connections: list[Connection] = []
        self.states = 0
        self.stopped, self.leaving = threading.Event(), threading.Event()

    def run(self) -> None:
        while not self.leaving.is_set():
            place = self.dice.randrange(len(self.ports))
            self.connection = Connection(place, self.is_numbered)
            self.connections.append(self.connection)
            try:
                with socket.create_connection(("127.0.0.1", self.ports[place])) as one:
                    self.serve(one)
            except (OSError, Ended):
                self.done["connections ended"] += 1
            except Faulty as fault:
                self.connection.fault = str(fault)
            if not self.connection.requests:
                # The acceptor is away, or has refused it.
                self.connections.pop()
            time.sleep(WAIT_SECONDS)

    def serve(self, one: socket.socket) -> None:
        self.one = one
        self.sent, self.expected, self.highest = 0, 1, 0
        self.names = itertools.count(1)
        # Messages to lose; from where an unanswered ResendRequest asks.
        self.to_lose, self.asked = 0, 0
        one.settimeout(WAIT_SECONDS)
        self.send(b"A", b"98=0", b"108=30", b"141=Y", b"554=" + self.key)
        rest, is_on = b"", False
        heard_at = self.beat_at = time.monotonic()
        act_at = heard_at
        while not self.leaving.is_set():
            try:
                data = one.recv(1 << 16)
                if not data:
                    raise Ended
                heard_at = time.monotonic()
                messages, rest = cut(rest + data)
                for message in messages:
                    self.handle(message)
                    if not is_on:
                        is_on = True
                        self.done["Logons"] += 1
                        self.subscribe()
            except TimeoutError:
                pass
            now = time.monotonic()
            if now > heard_at + (SILENT_SECONDS if is_on else LOGON_SECONDS):
                raise Ended
            if is_on and now > self.beat_at + BEAT_SECONDS:
                # Its answer shows a gap behind which nothing else comes.
                self.send(b"1", b"112=beat")
            if self.stopped.is_set():
                self.to_lose = 0
            elif is_on and now > act_at:
                act_at = now + self.dice.expovariate(1 / ACT_SECONDS)
                self.act()

    def send(self, message_type: bytes, *fields: bytes) -> None:
        self.sent += 1
        now = time.time()
        at = time.strftime("%Y%m%d-%H:%M:%S", time.gmtime(now)).encode()
        head = [
            b"35=" + message_type, b"34=%d" % self.sent, b"49=" + self.comp_id,
            b"52=" + at, b"56=PARTNERAPI",
        ]  # fmt: skip
        body = SOH.join([*head, *fields, b""])
        text = b"8=FIX.4.4\x019=%d\x01%s" % (len(body), body)
        self.one.sendall(b"%s10=%03d\x01" % (text, sum(text) % 256))
        self.beat_at = time.monotonic()

    def handle(self, message: Fields) -> None:
        """Note a message; ask for those that were lost before it.

        Raises:
            Ended; Faulty: it may not have come.
        """
        message_type, number = value(message, 35), int(value(message, 34))
        if message_type == b"5":
            raise Ended
        if message_type == b"4":
            self.fill(number, int(value(message, 36)))
            return
        if self.to_lose and message_type != b"A":
            self.to_lose -= 1
            return
        self.highest = max(self.highest, number)
        if number > self.expected:
            if not self.asked:
                self.ask(self.expected)
                self.done["gaps"] += 1
            return
        if number < self.expected:
            raise Faulty(f"message {number} instead of {self.expected}: {message}")
        self.expected += 1
        if message_type == b"1":
            self.send(b"0", b"112=" + value(message, 112))
        elif message_type in (b"W", b"X"):
            self.connection.received.append(message)
            self.states += 1
        elif message_type not in (b"A", b"0", b"f", b"B"):
            raise Faulty(f"no answer to anything: {message}")

    def ask(self, first: int) -> None:
        self.asked = first
        self.send(b"2", b"7=%d" % first, b"16=0")

    def fill(self, first: int, following: int) -> None:
        """Take a SequenceReset.

        Raises:
            Faulty: it was not asked for, or leaves out what has come.
        """
        if first != self.asked:
            raise Faulty(f"a gap fill from {first}, asked for was {self.asked}")
        self.asked = 0
        if following <= max(self.highest, self.expected - 1):
            raise Faulty(f"a gap fill to {following}, but {self.highest} has come")
        self.connection.received.append(GAP)
        self.expected = following

    # The acts.

    def act(self) -> None:
        if self.asked or self.to_lose:
            return
        name, act = self.dice.choice(
            (
                ("subscriptions", self.subscribe),
                ("subscriptions ended", self.unsubscribe),
                ("losses", self.lose),
                ("losses", self.lose),
                ("ResendRequests for what had come", self.ask_again),
                ("disconnections", self.leave),
            )
        )
        self.done[name] += 1
        act()

    def subscribe(self) -> None:
        if len(self.standing) == MOST_REQUESTS:
            self.unsubscribe()
        chosen = tuple(self.dice.sample(self.symbols, self.dice.choice((1, 2, 4))))
        depth, sides = self.dice.choice(DEPTHS), self.dice.choice(SIDES)
        refreshes = self.dice.random() < REFRESHING
        name = b"R%d" % next(self.names)
        self.connection.requests[name] = Request(chosen, depth, sides, refreshes)
        types = [b"269=%c" % side for side in (*sides, ord("2"))]
        self.send(
            b"V", b"262=" + name, b"263=1", b"264=%d" % depth,
            b"265=%d" % (not refreshes), b"267=%d" % len(types), *types,
            b"146=%d" % len(chosen), *(b"55=" + one.encode() for one in chosen),
        )  # fmt: skip

    @property
    def standing(self) -> list[bytes]:
        connection = self.connection
        return [name for name in connection.requests if name not in connection.ended]

    def unsubscribe(self) -> None:
        if standing := self.standing:
            name = self.dice.choice(standing)
            self.connection.ended.add(name)
            self.send(
                b"V", b"262=" + name, b"263=2", b"264=0", b"267=1", b"269=0",
                b"146=1", b"55=" + self.symbols[0].encode(),
            )  # fmt: skip

    def lose(self) -> None:
        self.to_lose = self.dice.choice((1, 2, 10))

    def ask_again(self) -> None:
        if self.expected > 2:
            self.ask(self.dice.randrange(2, self.expected))

    def leave(self) -> None:
        raise Ended

"""Attackers that send mutated messages to an acceptor, before and after a Logon.

To be imported before Django is set up: its processes are forked then.
"""

import contextlib
import random
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from typing import NamedTuple

from marketdata.fix.protocol.wire import Decoder, GarbledMessage, encode
from tests.chaos import mutations
from tests.chaos.fix_player import Seat
from tests.chaos.mutations import Fields

PIECE_SECONDS = 0.002
ANSWER_SECONDS = 0.05
CONNECT_SECONDS = 5.0
UNTIL_CUT = 0.005
"""The share of those who wait for what the acceptor does, however long it takes."""
OF_A_SESSION = 60
"""Messages: more than a session may send at once."""
BOOKS = (b"\x0135=W\x01", b"\x0135=X\x01", b"\x0135=y\x01")
LOGON = b"\x0135=A\x01"


class Target(NamedTuple):
    """An acceptor, and whom it is for."""

    port: int
    comp_id: str
    is_tls: bool
    symbol: str


@dataclass
class Attack:
    """The messages sent, and their results."""

    sent: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    leaks: list[str] = field(default_factory=list)
    refused_connections: int = 0

    def add(self, other: "Attack") -> None:
        self.sent.update(other.sent)
        self.answers.update(other.answers)
        self.leaks += other.leaks
        self.refused_connections += other.refused_connections


def context() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    return made


def connect(target: Target, wants_tls: bool) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", target.port), CONNECT_SECONDS)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context().wrap_socket(connection) if wants_tls else connection


def read(connection: socket.socket, seconds: float) -> bytes:
    """All bytes until a pause of this length, or the end of the connection."""
    connection.settimeout(seconds)
    said = b""
    with contextlib.suppress(OSError):
        while data := connection.recv(65536):
            said += data
    return said


def send(connection: socket.socket, pieces: list[bytes]) -> None:
    connection.settimeout(CONNECT_SECONDS)
    for piece in pieces:
        connection.sendall(piece)
        if len(pieces) > 1:
            time.sleep(PIECE_SECONDS)


def kinds(said: bytes) -> Counter[str]:
    """The types of the received messages; "?" for anything else."""
    decoder = Decoder()
    decoder.feed(said)
    found: Counter[str] = Counter()
    while True:
        try:
            message = decoder.next()
        except GarbledMessage:
            found["?"] += 1
        else:
            if message is None:
                return found
            found[message.type] += 1


class Attacker:
    def __init__(
        self, targets: list[Target], seat: Seat, seed: float, pause: float
    ) -> None:
        self.targets = targets
        self.seat = seat
        self.pause = pause
        self.due = time.monotonic()
        self.dice = random.Random(seed)
        self.attack = Attack()

    def take_turn(self) -> None:
        """Wait until so many seconds after the message before."""
        self.due = max(self.due + self.pause, time.monotonic() - 1)
        time.sleep(max(0.0, self.due - time.monotonic()))

    def before_logon(self, count: int) -> Attack:
        """A connection for each message, most of which are Logons."""
        for _ in range(count):
            self.take_turn()
            target = self.dice.choice(self.targets)
            name, pieces = mutations.mutant(self.first_message(target), self.dice)
            self.attack.sent[f"before Logon: {name}"] += 1
            try:
                self.try_once(target, name, pieces)
            except OSError:
                self.attack.refused_connections += 1
        return self.attack

    def first_message(self, target: Target) -> Fields:
        key = self.dice.choice((self.seat.key, self.seat.key[:-1] + "~", "x"))
        if self.dice.random() < 0.7:
            return mutations.logon(self.seat.comp_id, target.comp_id, key)
        return mutations.request(
            self.dice, 1, self.seat.comp_id, target.comp_id, target.symbol, key
        )

    def try_once(self, target: Target, name: str, pieces: list[bytes]) -> None:
        wants_tls = target.is_tls and self.dice.random() < 0.5
        with connect(target, wants_tls) as connection:
            with contextlib.suppress(OSError):
                send(connection, pieces)
            waits = self.dice.random() < UNTIL_CUT
            said = read(connection, 10 if waits else ANSWER_SECONDS)
        self.attack.answers.update(kinds(said))
        first = said.find(LOGON)
        told = [said.find(book) for book in BOOKS if book in said]
        if told and not 0 <= first < min(told):
            self.attack.leaks.append(f"{name}: {said[:300]!r}")

    def within_session(self, count: int) -> Attack:
        """Sessions, one after the other, each until the acceptor has had enough."""
        while count > 0:
            target = self.dice.choice(self.targets)
            try:
                with connect(target, target.is_tls) as connection:
                    count -= self.log_on_and_send(connection, target, count)
            except OSError:
                self.attack.refused_connections += 1
                time.sleep(PIECE_SECONDS)
        return self.attack

    def log_on_and_send(
        self, connection: socket.socket, target: Target, count: int
    ) -> int:
        """Raises OSError: it was no session; else how many messages were sent."""
        comp_id, key = self.seat
        send(connection, [encode(mutations.logon(comp_id, target.comp_id, key))])
        said = connection.recv(65536)
        self.attack.answers.update(kinds(said))
        if LOGON not in said:
            raise ConnectionRefusedError
        number, sent = 2, 0
        with contextlib.suppress(OSError):
            while sent < min(count, OF_A_SESSION):
                self.take_turn()
                fields = mutations.request(
                    self.dice, number, comp_id, target.comp_id, target.symbol, key
                )
                name, pieces = mutations.mutant(fields, self.dice)
                sent += 1
                self.attack.sent[f"session: {name}"] += 1
                send(connection, pieces)
                # What was garbled has no number for the engine.
                number += self.dice.choice((0, 1, 1))
                if self.dice.random() < 0.2:
                    said = read(connection, PIECE_SECONDS)
                    self.attack.answers.update(kinds(said))
        self.attack.answers.update(kinds(read(connection, 10 * ANSWER_SECONDS)))
        return sent


def attack(
    pipe: Pipe,
    targets: list[Target],
    seats: list[Seat],
    counts: tuple[int, int],
    rate: float,
    seed: int,
) -> None:
    """Send so many messages before a Logon, so many within sessions; in a process.

    `rate`: of both together, a second.

    Tells how many were sent every now and then, and in the end the Attack.
    """
    before, within = (count // len(seats) for count in counts)
    dice = random.Random(f"{seed} {seats[0].comp_id}")
    jobs: list[tuple[Callable[[int], Attack], int]] = []
    attackers = []
    for seat in seats:
        for name, count in (("before_logon", before), ("within_session", within)):
            pause = 2 * len(seats) / rate
            attacker = Attacker(targets, seat, dice.random(), pause)
            attackers.append(attacker)
            jobs.append((getattr(attacker, name), count))
    with ThreadPoolExecutor(len(jobs)) as pool:
        running = [pool.submit(job, count) for job, count in jobs]
        while not all(one.done() for one in running):
            pipe.send(sum(one.attack.sent.total() for one in attackers))
            time.sleep(0.5)
        total = Attack()
        for one in running:
            total.add(one.result())
    pipe.send(total)

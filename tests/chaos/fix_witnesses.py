"""Ordinary sessions during a storm, and what they notice of it.

Books change ten times a second; a witness is to hear of each as often. To be imported
before Django is set up: its processes are forked then.
"""

import itertools
import multiprocessing
import random
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection as Pipe
from uuid import UUID

from marketdata.fix.client.initiator import FixFailure
from marketdata.fix.client.replica import Inconsistent
from marketdata.fix.protocol.wire import GarbledMessage, Message
from tests.chaos.book_actors import fork
from tests.chaos.fix_player import Seat
from tests.chaos.fix_reader import Reader
from tests.chaos.fix_states import Wrong

SLOT_SECONDS = 0.1
NOTED_SECONDS = 0.25
"""Pauses from here on are noted one by one."""
HEARTBEAT = 5
MISSED_SECONDS = 1.2 * HEARTBEAT
TICK_SECONDS = 0.01

Pause = tuple[float, float]
"""From one instant to another, monotonic."""


def length(pause: Pause) -> float:
    return pause[1] - pause[0]


@dataclass
class Seen:
    """Since the last look; `own` are pauses of the witnesses' process itself."""

    messages: int = 0
    pauses: list[Pause] = field(default_factory=list)
    longest: float = 0
    own: list[Pause] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    longest_silence: float = 0
    """Of the session that is sent nothing but Heartbeats."""
    test_requests: int = 0
    """Of the engine, which had not heard of a witness for too long."""


class Notes:
    """What several threads note."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seen = Seen()

    def take(self) -> Seen:
        with self.lock:
            seen, self.seen = self.seen, Seen()
        return seen

    def pause(self, since: float, now: float) -> None:
        with self.lock:
            self.seen.messages += 1
            self.seen.longest = max(self.seen.longest, now - since)
            if now - since > NOTED_SECONDS:
                self.seen.pauses.append((since, now))


class Witness(Reader):
    """Notes when it hears of each book."""

    def watch(self, notes: Notes, symbols: tuple[str, ...]) -> None:
        self.notes = notes
        self.heard_at: dict[str, float] = {}
        self.logon()
        if symbols:
            self.subscribe(symbols, 10, "01")
        silent_since = time.monotonic()
        while True:
            message = self.read(time.monotonic() + 1)
            if message is None:
                continue
            now = time.monotonic()
            if not symbols:
                with notes.lock:
                    silence = max(notes.seen.longest_silence, now - silent_since)
                    notes.seen.longest_silence = silence
                silent_since = now
            if message.type == "1" and message.get(112) == "TEST":
                with notes.lock:
                    notes.seen.test_requests += 1
            if self.handle(message):
                self.take(message)

    def take(self, message: Message) -> None:
        super().take(message)
        if message.type not in ("W", "X"):
            return
        now = time.monotonic()
        symbol = message.get(55)
        if symbol in self.heard_at:
            self.notes.pause(self.heard_at[symbol], now)
        self.heard_at[symbol] = now


def witness(
    pipe: Pipe,
    port: int,
    target: str,
    seats: list[Seat],
    symbols: tuple[str, ...],
    heartbeat: int,
) -> None:
    """Be witnesses, one with nothing but Heartbeats; to be run in a process.

    Answers anything with what was seen since the last time.
    """
    notes = Notes()

    def run(seat: Seat, symbols: tuple[str, ...]) -> None:
        reader = Witness(
            host="127.0.0.1", port=port, sender=seat.comp_id, target=target,
            key=seat.key, heartbeat=heartbeat,
        )  # fmt: skip
        try:
            reader.watch(notes, symbols)
        except (FixFailure, Wrong, Inconsistent, GarbledMessage) as end:
            with notes.lock:
                notes.seen.wrong.append(f"{seat.comp_id}: {end!r}")

    def tick() -> None:
        before = time.monotonic()
        while True:
            time.sleep(TICK_SECONDS)
            now = time.monotonic()
            if now - before > SLOT_SECONDS:
                with notes.lock:
                    notes.seen.own.append((before, now))
            before = now

    threading.Thread(target=tick, daemon=True).start()
    for number, seat in enumerate(seats):
        own = symbols if number else ()
        threading.Thread(target=run, args=(seat, own), daemon=True).start()
    while True:
        pipe.recv()
        pipe.send(notes.take())


def move(pipe: Pipe, ids: dict[str, UUID]) -> None:
    """Change each book once in a slot; to be run in a process.

    Answers anything with the pauses between two commits of a book.
    """
    from marketdata.books.log import Message as BookMessage
    from marketdata.books.log import record
    from marketdata.books.orderbook import Change
    from tests.marketdata.fix.market import OPENING

    dice = random.Random(3)
    committed: dict[str, float] = {}
    pauses: list[Pause] = []
    begin = time.monotonic()
    for slot in itertools.count():
        for place, (symbol, token_id) in enumerate(ids.items()):
            due = begin + (slot + place / len(ids)) * SLOT_SECONDS
            time.sleep(max(0.0, due - time.monotonic()))
            side = dice.choice((0, 1))
            change = Change(side, dice.choice(OPENING[side]), 1_000 + slot)
            record(token_id, [BookMessage([change])], "storm")
            now = time.monotonic()
            if now - committed.get(symbol, now) > SLOT_SECONDS * 1.5:
                pauses.append((committed[symbol], now))
            committed[symbol] = now
            if pipe.poll():
                pipe.recv()
                pipe.send(pauses)
                pauses = []
        # Slots that were slept through are gone.
        begin = max(begin, time.monotonic() - (slot + 1) * SLOT_SECONDS)


class Helper:
    """A process that answers when it is asked."""

    def __init__(self, target, *arguments) -> None:
        self.pipe, child = multiprocessing.Pipe()
        self.process = fork.Process(
            target=target, args=(child, *arguments), daemon=True
        )
        self.process.start()
        child.close()

    def ask(self):
        self.pipe.send("seen")
        return self.pipe.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()


@dataclass
class Calm:
    """How live sessions fared for a while; seconds.

    `longest` is the longest time between two messages about a book. `excess` is how
    much of it the writer's own pauses, and those of the witnesses' process, leave
    unexplained.
    """

    messages: int
    longest: float
    excess: float
    longest_commit: float
    longest_silence: float
    test_requests: int
    wrong: list[str]

    @property
    def is_undisturbed(self) -> bool:
        return not (
            self.wrong
            or self.test_requests
            or self.excess > LONGEST_SECONDS
            or self.longest_silence > MISSED_SECONDS
        )


LONGEST_SECONDS = 0.3


def unexplained(pause: Pause, others: list[Pause]) -> float:
    begin, end = pause
    near = [one for one in others if one[0] < end and one[1] > begin - LONGEST_SECONDS]
    own = max((length(one) - SLOT_SECONDS for one in near), default=0.0)
    return length(pause) - max(0.0, own)


class Witnesses:
    """Sessions at one port, and the books that they follow."""

    def __init__(
        self,
        port: int,
        target: str,
        seats: list[Seat],
        ids: dict[str, UUID],
        heartbeat: int = HEARTBEAT,
    ) -> None:
        self.mover = Helper(move, ids)
        self.sessions = Helper(witness, port, target, seats, tuple(ids), heartbeat)

    def look(self) -> Calm:
        """How it was since the last look."""
        seen: Seen = self.sessions.ask()
        commits: list[Pause] = self.mover.ask()
        explained = [unexplained(pause, commits + seen.own) for pause in seen.pauses]
        short = min(seen.longest, NOTED_SECONDS)
        return Calm(
            seen.messages,
            seen.longest,
            max(explained, default=short),
            max(map(length, commits), default=SLOT_SECONDS),
            seen.longest_silence,
            seen.test_requests,
            seen.wrong,
        )

    def end(self) -> None:
        self.sessions.end()
        self.mover.end()

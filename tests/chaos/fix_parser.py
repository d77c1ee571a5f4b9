"""Mutated messages to a live session of QuickFIX's, without a connection.

They go through what the acceptor lets pass to QuickFIX and the application, on a
CompID that logs on whenever its session has ended. Beside it, another CompID follows a
book and must notice nothing. A fault of QuickFIX's ends the process, so `fix_mutations`
starts processes of its own: their arguments are a seed and how many messages.
"""

import asyncio
import json
import math
import os
import random
import re
import socket
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from marketdata.fix.acceptor.inbound import Inbound, RuleBroken
from marketdata.fix.protocol.wire import encode
from tests.chaos import mutations
from tests.chaos.installation import ROOT

if TYPE_CHECKING:
    from marketdata.fix.acceptor.quickfix.engine import Engine
    from marketdata.fix.acceptor.sessions import Sessions

PROCESSES = 2
OF_A_BATCH = 20_000
WITH_A_LENGTH = 0.05
"""The share of messages with a field that tells a length, whatever else is wrong."""
LOOK_EVERY = 100
"""Messages, after which the other session must get its book's change."""
SYMBOL, TARGET = "TKN0", "PARTNERAPI"
TYPE = re.compile(rb"\x0135=([^\x01]*)\x01")
NUMBER = re.compile(rb"\x0134=([0-9]+)\x01")
REFUSED = "refused before the engine"


@dataclass
class Parsed:
    """`came_of` counts what was refused, and the types of what was answered."""

    messages: int = 0
    came_of: Counter[str] = field(default_factory=Counter)
    deaths: list[str] = field(default_factory=list)


def parse_all(messages: int, seed: int) -> Parsed:
    """Have so many mutants handled; a batch that ends its process is named."""
    batches = [
        (number, min(OF_A_BATCH, messages - begin))
        for number, begin in enumerate(range(0, messages, OF_A_BATCH), seed * 1_000)
    ]
    found = Parsed(messages)
    with ThreadPoolExecutor(PROCESSES) as pool:
        for (number, count), ended in zip(
            batches, pool.map(run_batch, batches), strict=True
        ):
            if ended.returncode:
                found.deaths.append(
                    f"tests.chaos.fix_parser {number} {count}: {ended.returncode} "
                    f"{ended.stderr[-2_000:]}"
                )
            else:
                found.came_of.update(json.loads(ended.stdout))
    return found


def run_batch(batch: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.chaos.fix_parser", *map(str, batch)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        check=False,
    )


class Seat:
    """A CompID, its session, and the socket of its client."""

    def __init__(self, sessions: "Sessions", engine: "Engine", comp_id: str) -> None:
        self.sessions = sessions
        self.comp_id = comp_id
        self.engine_session = engine.session(comp_id)

    async def connect(self) -> None:
        ours, self.client = socket.socketpair()
        self.client.setblocking(False)
        _, self.writer = await asyncio.open_connection(sock=ours)

    async def log_on(self) -> None:
        from marketdata.fix.acceptor.logon import Admission
        from marketdata.fix.acceptor.outbound import Outbound
        from tests.marketdata.fix.engines import caller

        admission = Admission(self.comp_id, "key", caller())
        self.session = self.sessions.begin(
            admission, self.engine_session, Outbound(self.comp_id, self.writer)
        )
        self.inbound = Inbound()
        self.session.receive(encode(mutations.logon(self.comp_id, TARGET, "key")))
        await settle()
        assert self.session.is_logged_on

    def send(self, data: bytes) -> int:
        """Have the session receive bytes, until it ends; how many messages passed."""
        passed = 0
        try:
            for message in self.inbound.messages(data):
                self.session.receive(message)
                passed += 1
                if self.session.ended.is_set():
                    break
        except RuleBroken as broken:
            self.session.end_now(str(broken))
        return passed

    def said(self) -> bytes:
        """All that was sent to the client since the last call."""
        found = b""
        with suppress(BlockingIOError):
            while data := self.client.recv(1 << 20):
                found += data
        return found


async def settle() -> None:
    """Wait for the calls that are due in the loop, and for those that they cause."""
    for _ in range(3):
        await asyncio.sleep(0)


class Trial:
    """An engine with an attacked session and one beside it, which follows a book."""

    def __init__(self, seed: int) -> None:
        from marketdata.books.feed import Feed
        from marketdata.fix.acceptor.conflation import Conflation
        from marketdata.fix.acceptor.quickfix.engine import Engine
        from marketdata.fix.acceptor.sessions import Sessions
        from tests.marketdata.fix.engines import new_book

        self.dice = random.Random(seed)
        self.came_of: Counter[str] = Counter()
        self.failures: list[Any] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.failures.append(context))
        feed = Feed([])
        self.book = new_book(SYMBOL)
        feed.books = {self.book.token_id: self.book}
        # No one looks at the log, and nothing in it becomes stale.
        feed.looked_at = math.inf
        self.conflation = Conflation(feed, 0, loop)
        comp_ids = ["PARTNER001", "PARTNER002"]
        self.sessions = Sessions(feed, self.conflation, comp_ids, loop)
        self.engine = Engine(self.sessions)
        self.attacked, self.other = (
            Seat(self.sessions, self.engine, comp_id) for comp_id in comp_ids
        )
        self.following = 1

    async def run(self, count: int) -> Counter[str]:
        """What comes of so many mutants.

        Raises:
            AssertionError: one disturbed the other session, or a callback failed.
        """
        await self.attacked.connect()
        await self.other.connect()
        await self.other.log_on()
        await self.attacked.log_on()
        request = mutations.message(
            "V", 2, self.other.comp_id, TARGET, (262, "R"), (263, 1), (264, 0),
            (265, 1), (267, 2), (269, 0), (269, 1), (146, 1), (55, SYMBOL),
        )  # fmt: skip
        self.other.send(encode(request))
        await settle()
        assert self.types_of_other() == [b"A", b"W", b"f"]
        for number in range(count):
            await self.attack()
            if number % LOOK_EVERY == 0:
                await self.look_at_other(number)
        self.engine.close()
        return self.came_of

    async def attack(self) -> None:
        """Send one mutant to a session, which begins where there is none."""
        seat = self.attacked
        if seat.session.ended.is_set():
            await seat.log_on()
            self.came_of["sessions"] += 1
            seat.said()
        number = seat.engine_session.session.getExpectedTargetNum()
        fields = mutations.request(
            self.dice, number, seat.comp_id, TARGET, SYMBOL, "key"
        )
        if self.dice.random() < WITH_A_LENGTH:
            fields = mutations.length_field(fields, self.dice)
        _, pieces = mutations.mutant(fields, self.dice)
        passed = sum(seat.send(piece) for piece in pieces)
        await settle()
        self.came_of[REFUSED] += not passed
        answers = TYPE.findall(seat.said())
        self.came_of.update(b"".join([b"35=", one]).decode() for one in answers)
        if seat.session.logout_reason and not seat.session.ended.is_set():
            # It is not there to answer the Logout.
            seat.session.disconnect("")
        assert not self.failures, self.failures
        assert not is_internal(seat.session.logout_reason), pieces

    def types_of_other(self) -> list[bytes]:
        """The types of what the other session was sent, whose numbers follow on."""
        said = self.other.said()
        numbers = list(map(int, NUMBER.findall(said)))
        begin, self.following = self.following, self.following + len(numbers)
        assert numbers == list(range(begin, self.following))
        return TYPE.findall(said)

    async def look_at_other(self, number: int) -> None:
        """Change its book, and see that it is sent the change."""
        self.book.extend([(self.book.sequence + 1, 0, 1000, number + 1, True, 0)])
        self.conflation.gather([self.book])
        await settle()
        types = self.types_of_other()
        # A Heartbeat may come, too, when a batch takes long.
        assert b"X" in types, (types, self.other.session.logout_reason)
        if b"1" in types:
            # Without an answer it would get nothing more.
            number = self.other.engine_session.session.getExpectedTargetNum()
            probe = self.other.session.window.probe
            assert probe
            heartbeat = mutations.message(
                "0", number, self.other.comp_id, TARGET, (112, probe.id)
            )
            self.other.send(encode(heartbeat))


def is_internal(reason: str) -> bool:
    from marketdata.fix.protocol.rules import INTERNAL_ERROR

    return reason == INTERNAL_ERROR


async def came_of(seed: int, count: int) -> Counter[str]:
    return await Trial(seed).run(count)


if __name__ == "__main__":
    import django

    django.setup()
    seed, count = map(int, sys.argv[1:])
    sys.stdout.write(json.dumps(asyncio.run(came_of(seed, count))))

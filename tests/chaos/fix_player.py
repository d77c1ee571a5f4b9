"""What a client of the FIX feed does in a random history, and what it ends with.

To be imported before Django is set up: its processes are forked then.
"""

import contextlib
import multiprocessing
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing.connection import Connection as Pipe
from typing import NamedTuple
from uuid import UUID

from marketdata.books.days import day_of
from marketdata.fix.client.initiator import FixFailure, LoggedOut, LogonRefused
from marketdata.fix.client.replica import VOLUME, Inconsistent
from marketdata.fix.protocol.rules import GOING_DOWN, LOGON_WITHIN
from marketdata.fix.protocol.wire import GarbledMessage
from tests.chaos.book_actors import fork
from tests.chaos.fix_reader import Holding, Reader
from tests.chaos.fix_states import READY, Wrong
from tests.chaos.fix_verdicts import (
    Known,
    wrong_last_trades,
    wrong_prices,
    wrong_trades,
)

STEPS = 10
LONGEST_STEP_SECONDS = 0.7
DEPTHS = (0, 0, 1, 2, 3, 5, 10, 50)
ENTRY_TYPES = ("01", "012", "012B", "2", "0", "12B")
RETURN_SECONDS = 300.0
REACH_SECONDS = 200.0
QUIET_SECONDS = 0.25


class Seat(NamedTuple):
    """What a client logs on with."""

    comp_id: str
    key: str


@dataclass
class Outcome:
    """The work done in a history, and the errors found."""

    done: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    books: int = 0
    trades: int = 0
    lost_connections: int = 0


class Player:
    """A client for one history. `heed` gives the end of it, once there is one."""

    def __init__(
        self,
        reader: Reader,
        ids: dict[str, UUID],
        seed: float,
        heed: Callable[[], dict[str, Known] | None],
    ) -> None:
        self.reader = reader
        self.ids = ids
        self.dice = random.Random(seed)
        self.heed = heed
        self.outcome = Outcome()
        self.day = day_of(datetime.now(UTC))

    def play(self, played: threading.Semaphore) -> Outcome:
        """Take random steps, then wait for the end and be judged by it."""
        try:
            try:
                self.connect()
                self.keep_on(self.subscribe)
                for _ in range(STEPS):
                    self.keep_on(self.step)
            finally:
                played.release()
            while (known := self.heed()) is None:
                self.keep_on(lambda: self.reader.read_for(0.05))
            self.settle(known)
            for holding in [*self.reader.ended, *self.reader.holdings.values()]:
                self.outcome.trades += sum(
                    len(book.trades) for book in holding.books.values()
                )
                self.outcome.wrong += wrong_trades(holding, known)
                self.outcome.wrong += wrong_last_trades(holding, known)
            self.outcome.wrong += wrong_prices(self.reader.states, known)
            with contextlib.suppress(FixFailure):
                self.reader.logout()
        except (Wrong, Inconsistent, GarbledMessage) as wrong:
            self.outcome.wrong.append(f"{type(wrong).__name__}: {wrong}")
        except FixFailure as failure:
            self.outcome.wrong.append(f"no session any more: {failure!r}")
        self.reader.close()
        return self.outcome

    def keep_on(self, act: Callable[[], object]) -> None:
        """Act; when the session ends over it, begin another one."""
        try:
            act()
        except FixFailure as failure:
            self.excuse(failure)
            self.come_back()

    def excuse(self, failure: FixFailure) -> None:
        """Raises the failure unless the acceptor was to end, or the session."""
        if isinstance(failure, LoggedOut):
            was_within = self.reader.is_logging_on and LOGON_WITHIN in str(failure)
            if GOING_DOWN not in str(failure) and not was_within:
                raise failure
        else:
            self.outcome.lost_connections += 1

    def come_back(self) -> None:
        """Connect again, and subscribe what was subscribed."""
        held = [one for one in self.reader.holdings.values() if not one.is_once]
        while True:
            self.connect()
            try:
                for holding in held:
                    self.reader.subscribe_as(holding)
            except FixFailure as failure:
                self.excuse(failure)
            else:
                return

    def connect(self) -> None:
        """Log on, as often as it takes.

        Raises:
            FixFailure: it takes too long, or is refused.
        """
        deadline = time.monotonic() + RETURN_SECONDS
        self.reader.close()
        while True:
            try:
                self.reader.logon()
            except FixFailure as failure:
                # The acceptor is away, goes down, or does not know yet that we left.
                if time.monotonic() > deadline or (
                    isinstance(failure, LogonRefused) and GOING_DOWN not in str(failure)
                ):
                    raise
                time.sleep(0.1)
            else:
                return

    # The steps.

    def step(self) -> None:
        name, act = self.dice.choice(
            (
                ("subscribe", self.subscribe),
                ("subscribe", self.subscribe),
                ("snapshot", self.snapshot),
                ("unsubscribe", self.unsubscribe),
                ("other depth", self.change_depth),
                ("list", self.list_instruments),
                ("refused request", self.ask_wrongly),
                ("disconnect", self.drop_connection),
                ("log out", self.log_out),
                ("ResendRequest", self.ask_again),
                ("lost messages", self.lose_messages),
                ("Logon within", self.log_on_within),
                ("states", self.ask_for_states),
                ("pause", self.pause),
            )
        )
        self.outcome.done[name] += 1
        act()
        self.reader.read_for(self.dice.uniform(0.02, LONGEST_STEP_SECONDS))

    def symbols(self) -> tuple[str, ...]:
        return tuple(self.dice.sample(list(self.ids), self.dice.choice((1, 1, 2, 4))))

    def subscribe(self) -> None:
        self.reader.subscribe(
            self.symbols(),
            self.dice.choice(DEPTHS),
            self.dice.choice(ENTRY_TYPES),
            refreshes=self.dice.random() < 0.3,
            ids=self.ids if self.dice.random() < 0.2 else None,
        )

    def snapshot(self) -> None:
        depth, entry_types = self.dice.choice(DEPTHS), self.dice.choice(("012B", "0"))
        self.reader.subscribe(self.symbols(), depth, entry_types, is_once=True)

    def any_holding(self) -> Holding | None:
        held = [one for one in self.reader.holdings.values() if not one.is_once]
        return self.dice.choice(held) if held else None

    def unsubscribe(self) -> None:
        holding = self.any_holding()
        if holding:
            self.reader.unsubscribe(holding)

    def change_depth(self) -> None:
        holding = self.any_holding()
        if holding:
            self.reader.unsubscribe(holding)
            self.reader.subscribe(
                holding.symbols,
                self.dice.choice(DEPTHS),
                holding.entry_types,
                refreshes=not holding.refreshes,
            )

    def list_instruments(self) -> None:
        self.reader.send("x", (320, f"L{next(self.reader.names)}"), (559, 4))

    def ask_wrongly(self) -> None:
        """With an id that is taken, by an unknown symbol, too deep, of no request."""
        holding = self.any_holding()
        fresh = f"R{next(self.reader.names)}"
        symbol = next(iter(self.ids))
        wrongs = [("0", fresh, 1, 0, "NOSUCH"), ("4", fresh, 2, 0, symbol),
                  ("5", fresh, 1, 51, symbol)]  # fmt: skip
        if holding:
            wrongs.append(("1", holding.request, 1, 0, symbol))
        reason, request, action, depth, named = self.dice.choice(wrongs)
        self.reader.refusals.add((request, reason))
        self.reader.send(
            "V",
            (262, request), (263, action), (264, depth), (265, 1), (267, 1), (269, 0),
            # What is right about it must not be served either.
            (146, 2), (55, symbol), (55, named),
        )  # fmt: skip

    def drop_connection(self) -> None:
        self.reader.close()
        self.come_back()

    def log_out(self) -> None:
        self.reader.logout()
        self.come_back()

    def ask_again(self) -> None:
        if self.reader.is_quiet and self.reader.expected > 2:
            self.reader.ask_again(self.dice.randrange(2, self.reader.expected))

    def lose_messages(self) -> None:
        if self.reader.is_quiet:
            self.reader.to_lose = self.dice.choice((1, 2, 10))

    def log_on_within(self) -> None:
        if self.reader.is_quiet:
            self.reader.log_on_within()
            self.reader.read_for(REACH_SECONDS)
            raise Wrong("a Logon within the session did not end it")

    def ask_for_states(self) -> None:
        self.reader.ask_for_states(self.dice.choice(list(self.ids)))

    def pause(self) -> None:
        time.sleep(self.dice.uniform(0.2, 2))

    # The end.

    def settle(self, known: dict[str, Known]) -> None:
        """Wait until all is as the log says, and see that it stays so."""
        deadline = time.monotonic() + REACH_SECONDS
        while missing := self.missing(known) + self.unsaid():
            if time.monotonic() > deadline:
                self.outcome.wrong += missing
                return
            self.keep_on(self.read_on)
        self.keep_on(lambda: self.reader.read_for(QUIET_SECONDS))
        self.outcome.wrong += [f"afterwards {one}" for one in self.missing(known)]
        self.outcome.books += sum(
            len(holding.books) for holding in self.reader.holdings.values()
        )

    def read_on(self) -> None:
        self.reader.to_lose = 0
        if self.reader.lost and not self.reader.filling_gap:
            # Its answer shows the gap, when nothing else comes any more.
            self.reader.send("1", (112, "gap"))
        self.reader.read_for(0.1)

    def missing(self, known: dict[str, Known]) -> list[str]:
        """In which books and trades this client is not where the log is."""
        missing = []
        if self.reader.lost or self.reader.to_lose:
            missing.append("a gap is not filled")
        for holding in self.reader.holdings.values():
            for symbol in holding.symbols:
                said = f"{holding.request} {symbol} depth {holding.depth}"
                book = holding.books.get(symbol)
                if book is None:
                    missing.append(f"{said}: no W")
                elif not holding.is_once and book.ladder() != holding.part_of(
                    known[symbol].ladder
                ):
                    missing.append(
                        f"{said}, 265={int(not holding.refreshes)}: {book.ladder()} "
                        f"instead of {holding.part_of(known[symbol].ladder)}"
                    )
                elif holding.wants_trades and not holding.is_once:
                    last = int(book.trades[-1].id) if book.trades else None
                    end = len(known[symbol].trades)
                    there = known[symbol].last_trade_after(holding.whole_at[symbol])
                    if last != end and (last or there < end):
                        missing.append(f"{said}: last trade {last} instead of {end}")
                    volume = sum(one[2] for one in known[symbol].trades)
                    told = book.figures.get(VOLUME, 0)
                    # The figures begin anew with a day.
                    is_same_day = self.day == day_of(datetime.now(UTC))
                    if VOLUME in holding.entry_types and is_same_day and told != volume:
                        missing.append(f"{said}: volume {told} of {volume}")
        return missing

    def unsaid(self) -> list[str]:
        """States that this client did not receive, and questions without an answer."""
        states = self.reader.states
        unsaid = [f"no answer to {request}" for request in states.unanswered]
        for holding in self.reader.holdings.values():
            for symbol in holding.symbols:
                if not holding.is_once and states.shown.get(symbol) != READY:
                    unsaid.append(f"{symbol} is {states.shown.get(symbol)}, not ready")
        return unsaid


def play(pipe: Pipe, port: int, target: str, seats: list[Seat]) -> None:
    """Play a history on each seat on request; to be run in a process.

    Receives the tokens' ids by symbol and a seed, and says when all have been played;
    receives what is known then, and answers with the outcomes.
    """
    while True:
        ids, seed = pipe.recv()
        dice = random.Random(seed)
        ends: list[dict[str, Known]] = []
        played = threading.Semaphore(0)

        def heed(ends: list[dict[str, Known]] = ends) -> dict[str, Known] | None:
            return ends[0] if ends else None

        with ThreadPoolExecutor(len(seats)) as pool:
            futures = []
            for comp_id, key in seats:
                reader = Reader(
                    host="127.0.0.1", port=port, sender=comp_id, target=target,
                    key=key, heartbeat=dice.choice((5, 10, 30)),
                )  # fmt: skip
                player = Player(reader, ids, dice.random(), heed)
                futures.append(pool.submit(player.play, played))
            for _ in seats:
                played.acquire()
            pipe.send("played")
            ends.append(pipe.recv())
            pipe.send([future.result() for future in futures])


class Players:
    """A process of players, all at one acceptor."""

    def __init__(self, port: int, target: str, seats: list[Seat]) -> None:
        self.pipe, child = multiprocessing.Pipe()
        self.process = fork.Process(
            target=play, args=(child, port, target, seats), daemon=True
        )
        self.process.start()
        child.close()

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

"""A FIX client of market data: lists instruments, subscribes, rebuilds books.

For partners' first attempts, the acceptor's health check, and tests. Standard library
only.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from marketdata.fix.client.initiator import (
    ANSWER_SECONDS,
    FixFailure,
    Initiator,
    NoAnswer,
)
from marketdata.fix.client.replica import Inconsistent, Replica
from marketdata.fix.protocol.wire import Message


class Refused(FixFailure):
    """A request was rejected: a Reject(3), j or Y."""

    def __init__(self, answer: Message) -> None:
        self.answer = answer
        super().__init__(answer.get(58) or f"rejected: {answer!r}")


class Instrument(NamedTuple):
    """An entry of SecurityList(y); of `isin` and `id` one is empty."""

    symbol: str
    isin: str
    id: str
    name: str
    currency: str


class Subscription(NamedTuple):
    symbols: tuple[str, ...]
    depth: int
    trades: bool


@dataclass(eq=False, kw_only=True)
class Client(Initiator):
    """`books` holds a replica of each instrument that is subscribed, by symbol.

    An instrument is subscribed once at a time.
    """

    books: dict[str, Replica] = field(default_factory=dict, init=False)
    behind: set[str] = field(default_factory=set, init=False)
    """Books that missed an update; a W follows."""
    requests: dict[str, Subscription] = field(default_factory=dict, init=False)

    def logon(self) -> Message:
        self.books.clear()
        self.requests.clear()
        self.behind.clear()
        return super().logon()

    def receive(self, seconds: float = ANSWER_SECONDS) -> Message | None:
        """As Initiator's; applies W and X before returning them.

        Raises:
            Inconsistent: a message does not fit the book; and Initiator's.
        """
        message = super().receive(seconds)
        if message is not None and message.type in ("W", "X"):
            self.apply(message)
        return message

    def reset_sequence(self, message: Message) -> None:
        super().reset_sequence(message)
        # Missed updates are not sent again; the acceptor sends each book anew.
        self.behind.update(self.books)

    def apply(self, message: Message) -> None:
        if message.get(262) not in self.requests:
            # The acceptor sent this before it read our unsubscription.
            return
        entries = message.group(268)
        if message.type == "W":
            symbol = message.get(55)
            self.behind.discard(symbol)
            self.books.setdefault(symbol, Replica(symbol)).take(message, entries)
            return
        by_symbol: dict[str, list[dict[int, str]]] = {}
        for entry in entries:
            by_symbol.setdefault(entry[55], []).append(entry)
        for symbol, own in by_symbol.items():
            if symbol not in self.books:
                raise Inconsistent(f"{symbol}: an X arrived before its W")
            if symbol not in self.behind:
                self.books[symbol].take(message, own)

    def instruments(self) -> list[Instrument]:
        """Every instrument that this session may subscribe to, from SecurityList(y).

        Raises:
            Refused, NoAnswer, and what `receive` raises.
        """
        request = f"LIST{next(self.numbers)}"
        self.send("x", (320, request), (559, 4))
        found = []
        while True:
            answer = self.answer(lambda m: m.type == "y" and m.get(320) == request)
            for entry in answer.group(146):
                isin = entry.get(48, "") if entry.get(22) == "4" else ""
                found.append(
                    Instrument(
                        entry[55],
                        isin,
                        "" if isin else entry.get(48, ""),
                        entry.get(107, ""),
                        entry.get(15, ""),
                    )
                )
            if answer.get(893, "Y") == "Y":
                return found

    def subscribe(
        self, symbols: Sequence[str], *, depth: int = 0, trades: bool = False
    ) -> str:
        """Request books (snapshot and updates); returns the MDReqID(262) at once."""
        request = f"BOOK{next(self.numbers)}"
        self.requests[request] = Subscription(tuple(symbols), depth, trades)
        self.request_books(request, 1)
        return request

    def unsubscribe(self, request: str) -> None:
        """End a subscription, and drop its books."""
        self.request_books(request, 2)
        for symbol in self.requests.pop(request).symbols:
            self.books.pop(symbol, None)
            self.behind.discard(symbol)

    def request_books(self, request: str, type_: int) -> None:
        """Send V; the type is that of SubscriptionRequestType(263)."""
        symbols, depth, trades = self.requests[request]
        entry_types = "012" if trades else "01"
        self.send(
            "V",
            (262, request),
            (263, type_),
            (264, depth),
            (265, 1),
            (267, len(entry_types)),
            *((269, entry_type) for entry_type in entry_types),
            (146, len(symbols)),
            *((55, symbol) for symbol in symbols),
        )

    def snapshots(
        self, symbols: Sequence[str], *, depth: int = 0, trades: bool = False
    ) -> list[Replica]:
        """Subscribe, and wait until each book has arrived.

        Raises:
            Refused: a symbol is unknown or hidden, or a limit is reached. NoAnswer, and
            what `receive` raises.
        """
        request = self.subscribe(symbols, depth=depth, trades=trades)
        missing = set(symbols)
        while missing:
            answer = self.answer(lambda m: m.type == "W" and m.get(262) == request)
            missing.discard(answer.get(55))
        return [self.books[symbol] for symbol in symbols]

    def request_reports(self, last: int) -> None:
        """Request a drop copy's reports from behind ExecID(17) `last`; 0: all.

        The reports that came before the answer are among those that follow it.

        Raises:
            Refused, NoAnswer, and what `receive` raises.
        """
        request = f"COPY{next(self.numbers)}"
        self.send("AD", (568, request), (569, 1), (263, 1), (17, last))
        answer = self.answer(lambda m: m.type == "AQ" and m.get(568) == request)
        if answer.get(750) != "0":
            raise Refused(answer)

    def answer(self, wanted: Callable[[Message], bool]) -> Message:
        """The next wanted message; raises Refused if a reject comes first."""
        deadline = time.monotonic() + ANSWER_SECONDS
        while (message := self.receive(deadline - time.monotonic())) is not None:
            if message.type in ("3", "j", "Y"):
                raise Refused(message)
            if wanted(message):
                return message
        raise NoAnswer(f"no answer within {ANSWER_SECONDS:.0f} s")

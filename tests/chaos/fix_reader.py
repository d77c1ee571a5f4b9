"""A partner's FIX session that takes nothing on trust.

It rebuilds the book of each request for itself, and looks at the number, the form and
the place of every message.
"""

import itertools
import time
from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

from marketdata.books.orderbook import Ladder
from marketdata.fix.client.initiator import Initiator
from marketdata.fix.client.replica import TRADE, Replica, TradeSeen, trade
from marketdata.fix.protocol.rules import DEEPEST
from marketdata.fix.protocol.wire import Message
from tests.chaos.fix_states import States, Wrong, check_times

BID, ASK = "0", "1"
"""MDEntryType(269)."""


@dataclass(eq=False)
class Holding:
    """A MarketDataRequest, and what came of it, by symbol; instants are monotonic.

    `before` are the last trades in the first W's; no X repeats them.
    `awaited` are symbols whose book is wrong until their W comes, after a gap;
    `told_again` those whose trades may be repeated once.
    """

    request: str
    symbols: tuple[str, ...]
    depth: int
    entry_types: str
    is_once: bool
    refreshes: bool
    asked_at: float = field(default_factory=time.monotonic)
    books: dict[str, Replica] = field(default_factory=dict)
    whole_at: dict[str, float] = field(default_factory=dict)
    before: dict[str, TradeSeen] = field(default_factory=dict)
    awaited: set[str] = field(default_factory=set)
    told_again: set[str] = field(default_factory=set)

    @property
    def is_whole(self) -> bool:
        return self.books.keys() == set(self.symbols)

    @property
    def wants_trades(self) -> bool:
        return TRADE in self.entry_types

    @property
    def deepest(self) -> int:
        return self.depth or DEEPEST

    def take(self, message: Message) -> None:
        """Apply a W or X.

        Raises:
            Wrong: it is not what was asked for; Inconsistent: it does not fit.
        """
        entries = message.group(268)
        found = {entry[269] for entry in entries} - set(self.entry_types)
        if found:
            raise Wrong(f"entries of types that no one asked for: {found}")
        check_times(message, entries)
        if message.type == "W":
            self.take_whole(message, entries)
            return
        if self.is_once:
            raise Wrong("an X for a request with 263=0")
        if self.refreshes and {entry[269] for entry in entries} != {TRADE}:
            raise Wrong("levels in an X for a request with 265=0")
        [symbol] = {entry[55] for entry in entries}
        if symbol not in self.books:
            raise Wrong(f"an X of {symbol}, which has no W yet or was not asked for")
        if symbol in self.awaited:
            return
        book = self.books[symbol]
        before = int(book.trades[-1].id) if book.trades else None
        book.take(message, entries)
        for one in [entry for entry in entries if entry[269] == TRADE]:
            if before is not None and int(one[278]) <= before:
                if symbol not in self.told_again:
                    raise Wrong(f"trade {one[278]} of {symbol} after trade {before}")
                self.told_again.discard(symbol)
            before = int(one[278])
        self.measure(book)

    def take_whole(self, message: Message, entries: list[dict[int, str]]) -> None:
        symbol = message.get(55)
        if symbol not in self.symbols:
            raise Wrong(f"a W of {symbol}, which was not asked for")
        if self.is_once and symbol in self.books:
            raise Wrong(f"a second W of {symbol} for a request with 263=0")
        for side in (BID, ASK):
            own = [entry.get(290) for entry in entries if entry[269] == side]
            if own != [str(n) for n in range(1, len(own) + 1)]:
                raise Wrong(f"ranks in a W of {symbol}: {own}")
        trades = [trade(entry) for entry in entries if entry[269] == TRADE]
        is_first = symbol not in self.books or symbol in self.told_again
        if len(trades) > is_first:
            raise Wrong(f"a W of {symbol} with trades that are no first one: {trades}")
        if trades:
            [self.before[symbol]] = trades
            if symbol in self.books:
                # The first one is repeated.
                self.books[symbol].trades.clear()
                self.whole_at[symbol] = time.monotonic()
        self.awaited.discard(symbol)
        others = [entry for entry in entries if entry[269] != TRADE]
        self.whole_at.setdefault(symbol, time.monotonic())
        self.books.setdefault(symbol, Replica(symbol)).take(message, others)
        self.measure(self.books[symbol])

    def measure(self, book: Replica) -> None:
        levels = max(map(len, book.levels))
        if levels > self.deepest:
            raise Wrong(f"{levels} levels of {book.symbol}, asked for {self.deepest}")

    def part_of(self, ladder: Ladder) -> Ladder:
        """What this request is to show of a whole book."""
        bids, asks = (side[: self.deepest] for side in ladder)
        return Ladder(
            bids if BID in self.entry_types else (),
            asks if ASK in self.entry_types else (),
        )


@dataclass(eq=False, kw_only=True)
class Reader(Initiator):
    """`holdings` are the requests of this connection, `ended` those of before.

    Several may be of one instrument.
    """

    holdings: dict[str, Holding] = field(default_factory=dict, init=False)
    ended: list[Holding] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.names = itertools.count(1)
        # How many messages are still to be left unread, as if they had been lost.
        self.to_lose = 0
        self.lost = self.is_logging_on = False
        self.resends: deque[int] = deque()
        # Requests that must be refused, with MDReqRejReason(281); lists by request.
        self.refusals: set[tuple[str, str]] = set()
        self.lists: dict[str, list[str]] = {}
        self.states = States()

    def logon(self) -> Message:
        self.ended += self.holdings.values()
        self.holdings = {}
        self.to_lose, self.lost, self.is_logging_on = 0, False, False
        self.resends.clear()
        self.refusals.clear()
        self.lists.clear()
        self.states.begin()
        return super().logon()

    def handle(self, message: Message) -> bool:
        if message.type == "A":
            raise Wrong("a Logon within the session was answered by a Logon")
        if self.to_lose and message.type not in ("A", "5"):
            self.to_lose -= 1
            self.lost = True
            self.states.lose()
            return False
        if message.type not in ("4", "5") and message.sequence > self.expected:
            if not self.lost:
                raise Wrong(f"message {message.sequence} instead of {self.expected}")
            if not self.filling_gap:
                self.resends.append(self.expected)
        return super().handle(message)

    def reset_sequence(self, message: Message) -> None:
        first, following = message.sequence, int(message.get(36))
        asked_for = self.resends.popleft() if self.resends else None
        if first != asked_for:
            raise Wrong(f"a SequenceReset from {first}, asked for was {asked_for}")
        if message.get(123) != "Y" or message.get(43) != "Y":
            raise Wrong("a SequenceReset without 123=Y and 43=Y")
        if following != self.expected and not self.lost:
            raise Wrong(f"36={following} instead of {self.expected}")
        super().reset_sequence(message)
        for holding in self.holdings.values():
            holding.told_again = set(holding.books)
        if self.lost and not self.resends:
            self.lost = False
            self.states.lose()
            self.begin_anew()

    def ask_again(self, first: int) -> None:
        """Demand messages that did come: nothing but a gap fill may be the answer."""
        self.resends.append(first)
        self.send("2", (7, first), (16, 0))

    def begin_anew(self) -> None:
        """A W comes of each book that there was; of what was not, subscribe anew."""
        for holding in list(self.holdings.values()):
            if holding.is_whole and not holding.is_once:
                holding.awaited = set(holding.books)
                continue
            self.unsubscribe(holding)
            if not holding.is_once:
                self.subscribe_as(holding)

    def subscribe_as(self, before: Holding) -> Holding:
        return self.subscribe(
            before.symbols, before.depth, before.entry_types,
            refreshes=before.refreshes,
        )  # fmt: skip

    def subscribe(
        self,
        symbols: tuple[str, ...],
        depth: int,
        entry_types: str,
        *,
        is_once: bool = False,
        refreshes: bool = False,
        ids: dict[str, UUID] | None = None,
    ) -> Holding:
        """Send V; with `ids`, tokens are named by them and not by their symbols."""
        request = f"R{next(self.names)}"
        holding = Holding(request, symbols, depth, entry_types, is_once, refreshes)
        self.holdings[request] = holding
        named: list[tuple[int, object]] = []
        for symbol in symbols:
            if ids is None:
                named.append((55, symbol))
            else:
                named += [(55, "[N/A]"), (48, ids[symbol]), (22, 8)]
        self.send(
            "V",
            (262, request), (263, 0 if is_once else 1), (264, depth),
            *([] if is_once else [(265, 0 if refreshes else 1)]),
            (267, len(entry_types)), *((269, one) for one in entry_types),
            (146, len(symbols)), *named,
        )  # fmt: skip
        return holding

    def unsubscribe(self, holding: Holding) -> None:
        self.ended.append(self.holdings.pop(holding.request))
        if holding.is_once:
            return
        self.send(
            "V",
            (262, holding.request), (263, 2), (264, 0), (267, 1), (269, 0),
            (146, 1), (55, holding.symbols[0]),
        )  # fmt: skip

    @property
    def is_quiet(self) -> bool:
        """Whether nothing about the numbers is going on."""
        busy = self.lost or self.to_lose or self.resends or self.is_logging_on
        return not busy

    def ask_for_states(self, symbol: str) -> None:
        """Ask for the state of an instrument, and for that of the market."""
        request = f"S{next(self.names)}"
        self.states.ask(request, symbol)
        self.send("e", (324, request), (55, symbol), (263, 0))
        request = f"S{next(self.names)}"
        self.states.ask(request, "")
        self.send("g", (335, request), (263, 0))

    def log_on_within(self) -> None:
        """Log on within the session, which ends it."""
        self.is_logging_on = True
        self.sent = 0
        self.send("A", (98, 0), (108, self.heartbeat), (141, "Y"))

    def read_for(self, seconds: float) -> None:
        """Read messages for so long.

        Raises:
            Wrong, Inconsistent, GarbledMessage: it may not have come so; and
            FixFailure: the session is over.
        """
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            message = self.receive(left)
            if message is not None:
                self.take(message)

    @property
    def subscribed(self) -> set[str]:
        """All symbols that were ever subscribed."""
        holdings = [*self.ended, *self.holdings.values()]
        return {symbol for holding in holdings for symbol in holding.symbols}

    def take(self, message: Message) -> None:
        self.states.order(message)
        match message.type:
            case "W" | "X":
                holding = self.holdings.get(message.get(262))
                # Else it was sent before our unsubscription was read.
                if holding is not None:
                    holding.take(message)
            case "Y":
                if (message.get(262), message.get(281)) not in self.refusals:
                    raise Wrong(f"{message!r}: nothing to be refused for")
            case "y":
                listed = [entry[55] for entry in message.group(146)]
                if message.get(893) != "Y" or len(listed) != int(message.get(393)):
                    raise Wrong(f"a list in parts, of {len(listed)}")
                self.lists[message.get(320)] = listed
            case "f":
                self.states.take_status(message, self.subscribed)
            case "h":
                self.states.take_session_status(message)
            case "B":
                self.states.take_news(message)
            case _:
                raise Wrong(f"a {message.type}: {message!r}")

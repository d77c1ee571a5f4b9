"""The subscriptions of a session, and which message leads each of them on."""

from threading import Event, Lock
from typing import NamedTuple

from marketdata.books.livebook import LiveBook
from marketdata.fix.acceptor.conflation import Pace
from marketdata.fix.acceptor.requests import (
    ONCE,
    REFRESH,
    Directory,
    MarketDataRequest,
    RequestRefused,
    books_asked_for,
)
from marketdata.fix.acceptor.versions import EMPTY, Edition
from marketdata.fix.protocol.messages import TRADES, market_data, snapshot
from marketdata.fix.protocol.rules import DEEPEST

OVERHEAD = 100
"""Bytes of a message besides its body, about."""


class Outgoing(NamedTuple):
    """A message to send: MsgType(35), and its body."""

    type: str
    body: str

    @property
    def size(self) -> int:
        return len(self.body) + OVERHEAD


class Subscription:
    """An instrument of a MarketDataRequest.

    `shown` is the edition that the client's book equals, None where it has none yet;
    `is_emptied`: it was, and then lost its name; the next W has the new one. `trade` is
    the number of the last trade that it was sent or that went before.
    """

    __slots__ = ("depth", "entry_types", "is_emptied", "is_once", "needs_ladders",
                 "pace", "refreshes", "request_id", "shown", "trade", "wake",
                 "wants_trades", "watched")  # fmt: skip

    def __init__(
        self, request: MarketDataRequest, book: LiveBook, pace: Pace, wake: Event
    ) -> None:
        self.request_id = request.request_id
        self.depth = request.depth or DEEPEST
        self.entry_types = frozenset(request.entry_types)
        self.wants_trades = TRADES in request.entry_types
        self.is_once = request.action == ONCE
        self.refreshes = request.update_type == REFRESH
        self.needs_ladders = self.depth != DEEPEST or self.refreshes
        self.shown: Edition | None = None
        self.is_emptied = False
        self.trade = 0
        self.wake = wake
        self.pace = pace
        self.watched = pace.watch(book, self)

    def close(self) -> None:
        self.pace.unwatch(self.watched, self)

    @property
    def unsent_trades(self) -> int:
        if self.shown is None or not self.wants_trades:
            return 0
        return self.watched.edition.last_trade - self.trade

    def next_message(self) -> Outgoing | None:
        """What leads the client on, or None: it is where the book is.

        Raises:
            TradesLost: trades that it was not sent are no longer kept.
        """
        if self.shown is None:
            edition = self.watched.edition
            self.trade = edition.last_trade
            return self.whole(edition)
        while True:
            shown, edition = self.shown, self.watched.after(self.shown)
            if self.is_emptied:
                self.is_emptied = False
                return self.whole(edition)
            if edition is not shown and not edition.follows(shown):
                if edition.history.identity == shown.history.identity:
                    return self.whole(edition)
                # Who keeps books by their names would keep the old one for ever.
                self.is_emptied = True
                return self.emptied()
            if self.refreshes and edition is not shown:
                before = shown.snapshot(self.depth, self.entry_types)
                if edition.snapshot(self.depth, self.entry_types) != before:
                    return self.whole(edition)
                # Its trades, if there are any, make an X.
                self.lead_to(edition)
                continue
            self.lead_to(edition)
            trades = edition.trades_after(self.trade) if self.wants_trades else ()
            if edition is shown and not trades:
                return None
            if trades:
                self.trade = trades[-1].number
            text = edition.increment(shown, trades, self.depth, self.entry_types)
            if text:
                return Outgoing("X", market_data(self.request_id, text))

    def whole(self, edition: Edition) -> Outgoing:
        self.lead_to(edition)
        text = edition.snapshot(self.depth, self.entry_types)
        return Outgoing("W", market_data(self.request_id, text))

    def emptied(self) -> Outgoing:
        """What takes the client's book away, by the name it was last sent under."""
        named = (self.shown or self.watched.edition).history
        text = snapshot(named.identity, EMPTY, self.entry_types)
        return Outgoing("W", market_data(self.request_id, text))

    def lead_to(self, edition: Edition) -> None:
        """Note what the client's book will equal; pass over trades that are gone."""
        shown, self.shown = self.shown, edition
        if shown is None:
            return
        before, now = shown.history, edition.history
        if now.book is not before.book:
            self.trade = edition.last_trade
        elif now.rebuilt != before.rebuilt:
            # What was pruned before it was read nobody has.
            gone = min(now.book.trades_gone, edition.last_trade)
            self.trade = max(self.trade, gone)


class Subscriptions:
    """Those of a session, by MDReqID(262).

    The engine's threads add and end them, the session's thread sends and drops them.
    """

    def __init__(self, pace: Pace, wake: Event) -> None:
        self.pace = pace
        self.wake = wake
        self.by_request: dict[str, list[Subscription]] = {}
        # Where sending stopped last; it goes on from there, so that all get their turn.
        self.stopped_at: Subscription | None = None
        self.lock = Lock()

    def add(self, request: MarketDataRequest, directory: Directory) -> None:
        """Subscribe to all books of a request.

        Raises:
            RequestRefused: nothing of it holds.
        """
        with self.lock:
            active = {one: len(several) for one, several in self.by_request.items()}
        books = books_asked_for(request, active, directory)
        with self.lock:
            self.by_request[request.request_id] = [
                Subscription(request, book, self.pace, self.wake) for book in books
            ]

    def end(self, request_id: str) -> None:
        """End those of a request.

        Raises:
            RequestRefused: there are none.
        """
        with self.lock:
            ended = self.by_request.pop(request_id, None)
        if ended is None:
            raise RequestRefused("4", request_id)
        for subscription in ended:
            subscription.close()

    def drop(self, subscription: Subscription) -> None:
        """End one of them, where its request has not been ended meanwhile."""
        with self.lock:
            several = self.by_request.get(subscription.request_id, [])
            if subscription not in several:
                return
            several.remove(subscription)
            if not several:
                del self.by_request[subscription.request_id]
        subscription.close()

    def close(self) -> None:
        with self.lock:
            ended = self.all()
            self.by_request = {}
        for subscription in ended:
            subscription.close()

    def in_turn(self) -> list[Subscription]:
        """All of them, beginning where sending stopped last."""
        with self.lock:
            found = self.all()
        stopped_at, self.stopped_at = self.stopped_at, None
        place = found.index(stopped_at) if stopped_at in found else 0
        return found[place:] + found[:place]

    def all(self) -> list[Subscription]:
        return [one for several in self.by_request.values() for one in several]

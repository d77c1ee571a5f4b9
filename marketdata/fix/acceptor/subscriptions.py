"""The subscriptions of a session, and the next message of each."""

from collections import deque
from itertools import islice, takewhile
from typing import NamedTuple

from marketdata.books.livebook import LiveBook
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.outbound import NOTHING, Text, as_text
from marketdata.fix.acceptor.requests import (
    ONCE,
    REFRESH,
    Directory,
    MarketDataRequest,
    RequestRefused,
    requested_books,
)
from marketdata.fix.acceptor.versions import EMPTY, BookVersion, History, Owner
from marketdata.fix.acceptor.window import Window
from marketdata.fix.protocol.messages import (
    TRADES,
    bust_entries,
    full_refresh,
    incremental_refresh,
    named,
    numbering,
)
from marketdata.fix.protocol.rules import DEEPEST
from marketdata.fix.protocol.statuses import TradingStatus


class OutgoingMessage(NamedTuple):
    """A message to send: its MsgType(35), then its fields in two parts."""

    type: str
    body: Text
    request: Text = NOTHING


class Unread(NamedTuple):
    """A message with trades whose reading the client has not acknowledged.

    `number` is its MsgSeqNum(34), `sent` the bytes sent up to its end, `before` the
    value of `known` before it.
    """

    number: int
    sent: int
    before: tuple[int, int] | None


class Subscription:
    """An instrument of a MarketDataRequest.

    `shown` is the version that the client's book equals. None: the client has no book
    yet. `is_emptied`: the instrument's name changed, and the client's book under the
    old name was emptied; the next W has the new name. `is_lost`: the client missed
    messages, and needs a W. `trade` is the number of the last trade that was sent, or
    that came before the first W. `busts` is the number of busts that the client knows.
    `unread` has the values to which both return when the client has missed a message.
    `sent_status` is the state (f) that the
    client knows. `is_numbered`: BookSequence(5083) names
    the change of the log to which a message leads.
    """

    __slots__ = ("busts", "conflation", "depth", "entry_types", "is_emptied", "is_lost",
                 "is_numbered", "is_once", "name_of_request", "owner", "refreshes",
                 "request_id", "sent_status", "shown", "trade", "unread",
                 "wants_trades", "watched")  # fmt: skip

    def __init__(
        self,
        request: MarketDataRequest,
        book: LiveBook,
        conflation: Conflation,
        owner: Owner,
        is_numbered: bool = False,
    ) -> None:
        self.request_id = request.request_id
        self.name_of_request = as_text(named(request.request_id))
        self.is_numbered = is_numbered
        self.depth = request.depth or DEEPEST
        self.entry_types = frozenset(request.entry_types)
        self.wants_trades = TRADES in request.entry_types
        self.is_once = request.action == ONCE
        self.refreshes = request.update_type == REFRESH
        self.shown: BookVersion | None = None
        self.is_emptied = False
        self.is_lost = False
        self.sent_status: TradingStatus | None = None
        self.trade = 0
        self.busts = 0
        self.unread: deque[Unread] = deque()
        self.owner = owner
        self.conflation = conflation
        self.watched = conflation.watch(book, self)

    def close(self) -> None:
        self.conflation.unwatch(self.watched, self)

    @property
    def unsent_trades(self) -> int:
        if self.shown is None or not self.wants_trades:
            return 0
        return self.watched.version.last_trade - self.trade

    @property
    def known(self) -> tuple[int, int] | None:
        """The last trade and the number of busts that were sent to the client.

        None: it has no book yet.
        """
        return None if self.shown is None else (self.trade, self.busts)

    def note(self, number: int, before: tuple[int, int] | None, window: Window) -> None:
        """Note the change of `known` by the message just sent."""
        self.unread.append(Unread(number, window.sent, before))

    def forget_read(self, acknowledged: int) -> None:
        """Forget the messages up to so many bytes: the client has read them."""
        while self.unread and self.unread[0].sent <= acknowledged:
            self.unread.popleft()

    def lose(self, first: int, following: int) -> None:
        """The client missed the messages from `first` on that come before `following`.

        It gets a W with the state, then all trades from the first that it missed.
        """
        self.is_lost = self.shown is not None
        self.sent_status = None
        for place, (number, _, before) in enumerate(self.unread):
            if not first <= number < following:
                continue
            if before is None:
                self.shown, self.is_lost = None, False
            else:
                self.trade, self.busts = before
                self.pass_over_gone(self.watched.version)
            self.unread = deque(islice(self.unread, place))
            return

    def next_message(self) -> OutgoingMessage | None:
        """The next message; None: the client's book is up to date.

        Raises:
            TradesLost: unsent trades are no longer kept.
        """
        if self.shown is None:
            version = self.watched.version
            self.trade = version.last_trade
            self.busts = len(self.watched.book.busts or ())
            return self.full_refresh(version)
        while True:
            shown, version = self.shown, self.watched.version
            if self.is_emptied:
                self.is_emptied = False
                return self.full_refresh(version)
            if version is not shown and not version.follows(shown):
                if version.history.identity == shown.history.identity:
                    return self.full_refresh(version)
                # A client that keeps books by name would keep the old one forever.
                self.is_emptied = True
                self.sent_status = None
                return self.empty_refresh()
            if self.is_lost:
                self.is_lost = False
                return self.full_refresh(version)
            if self.refreshes and version is not shown:
                if not version.shows_what(shown, self.depth, self.entry_types):
                    return self.full_refresh(version)
                # Its trades, if there are any, make an X.
                self.advance_to(version)
                continue
            self.advance_to(version)
            trades = version.trades_after(self.trade) if self.wants_trades else ()
            if version is shown and not trades:
                return None
            if trades:
                self.trade = trades[-1].number
            text = version.incremental_refresh(
                shown, trades, self.depth, self.entry_types, self.is_numbered
            )
            if text.data:
                return OutgoingMessage("X", text, self.name_of_request)

    def bust_message(self) -> OutgoingMessage | None:
        """Trades busted since the client's first W; None: no more."""
        busts = self.watched.book.busts or []
        if self.shown is None or len(busts) == self.busts:
            return None
        # A trade is sent before its bust.
        new = list(takewhile(lambda bust: bust[0] <= self.trade, busts[self.busts :]))
        self.busts += len(new)
        if not new or not self.wants_trades:
            return None
        text = incremental_refresh(bust_entries(self.name.symbol, new))
        return self.message("X", text, self.shown)

    def full_refresh(self, version: BookVersion) -> OutgoingMessage:
        # Later trades are sent one by one.
        is_first = self.shown is None
        self.advance_to(version)
        text = version.full_refresh(
            self.depth, self.entry_types, is_first, self.is_numbered
        )
        return OutgoingMessage("W", text, self.name_of_request)

    def message(self, type_: str, text: str, version: BookVersion) -> OutgoingMessage:
        """A message whose text is this session's only."""
        body = text + numbering(version.sequence) if self.is_numbered else text
        return OutgoingMessage(type_, as_text(body), self.name_of_request)

    @property
    def name(self) -> History:
        """The last name of the client's book."""
        return (self.shown or self.watched.version).history

    def empty_refresh(self) -> OutgoingMessage:
        """An empty W, under the last name of the client's book."""
        version = self.shown or self.watched.version
        text = full_refresh(self.name.identity, EMPTY, None, self.entry_types)
        return self.message("W", text, version)

    def advance_to(self, version: BookVersion) -> None:
        """Note which version the client will have; skip trades that are gone."""
        shown, self.shown = self.shown, version
        if shown is None:
            return
        before, now = shown.history, version.history
        if now.book is not before.book:
            self.trade = version.last_trade
            self.unread.clear()
        elif now.rebuilt != before.rebuilt:
            self.pass_over_gone(version)

    def pass_over_gone(self, version: BookVersion) -> None:
        """Trades that were pruned before the feed read them are lost for all."""
        gone = min(version.history.book.trades_gone, version.last_trade)
        self.trade = max(self.trade, gone)


class Subscriptions:
    """The subscriptions of a session, by MDReqID(262)."""

    def __init__(
        self, conflation: Conflation, owner: Owner, is_numbered: bool = False
    ) -> None:
        self.conflation = conflation
        self.is_numbered = is_numbered
        self.owner = owner
        self.by_request: dict[str, list[Subscription]] = {}
        # Where sending stopped last. It continues from there, so each gets its turn.
        self.stopped_at: Subscription | None = None

    def add(self, request: MarketDataRequest, directory: Directory) -> None:
        """Subscribe to all books of a request.

        Raises:
            RequestRefused: it is refused in full.
        """
        active = {one: len(several) for one, several in self.by_request.items()}
        books = requested_books(request, active, directory)
        self.by_request[request.request_id] = [
            Subscription(request, book, self.conflation, self.owner, self.is_numbered)
            for book in books
        ]

    def end(self, request_id: str) -> None:
        """End the subscriptions of a request.

        Raises:
            RequestRefused: there are none.
        """
        ended = self.by_request.pop(request_id, None)
        if ended is None:
            raise RequestRefused("4", request_id)
        for subscription in ended:
            subscription.close()

    def drop(self, subscription: Subscription) -> None:
        """End one subscription."""
        several = self.by_request[subscription.request_id]
        several.remove(subscription)
        if not several:
            del self.by_request[subscription.request_id]
        subscription.close()

    def close(self) -> None:
        ended = self.all()
        self.by_request = {}
        for subscription in ended:
            subscription.close()

    def in_turn(self) -> list[Subscription]:
        """All subscriptions, from where sending stopped last."""
        found = self.all()
        stopped_at, self.stopped_at = self.stopped_at, None
        place = found.index(stopped_at) if stopped_at in found else 0
        return found[place:] + found[:place]

    def all(self) -> list[Subscription]:
        return [one for several in self.by_request.values() for one in several]

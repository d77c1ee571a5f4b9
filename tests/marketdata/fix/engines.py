"""An engine on loopback without the listener, for tests; clients redeem tickets."""

import contextlib
import itertools
import math
import signal
import time
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.conf import settings

from accounts.access import Caller, Scope
from marketdata.books.feed import Feed, LiveBook
from marketdata.books.livebook import ChangeRow, TradeRow
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.logon import Admission, Admissions
from marketdata.fix.acceptor.session import LiveSession
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.client.client import Client
from marketdata.fix.client.initiator import ANSWER_SECONDS, Initiator
from marketdata.fix.protocol.wire import Message
from tests.system import free_port
from tests.waiting import PATIENCE_SECONDS, until

# Importing QuickFIX makes SIGINT end the process at once.
interrupt = signal.getsignal(signal.SIGINT)
from marketdata.fix.acceptor.quickfix.engine import Engine  # noqa: E402

signal.signal(signal.SIGINT, interrupt)

SESSIONS = 3
numbers = itertools.count(1)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def new_book(symbol: str, isin: str | None = None, is_public: bool = True) -> LiveBook:
    """A book as a feed has it, with one bid of 10.00 and one ask of 10.10."""
    facts = (
        symbol,
        isin,
        f"{symbol} shares",
        str(uuid4()),
        is_public,
        f"{symbol} issuer",
    )
    book = LiveBook(uuid4(), *facts)
    book.extend([(1, 0, 1000, 100, False, 0), (2, 1, 1010, 100, True, 0)])
    return book


def caller(granted: Collection[str] = ()) -> Caller:
    """A caller who may read order books, with grants for these issuers."""
    scopes = frozenset({Scope.MARKETDATA_READ.value})
    return Caller("partner", "login", "Partner", scopes, frozenset(granted), 1, 1)


class Hearing(Initiator):
    """Passes over states (f), which follow each W, unless a test asks for them."""

    hears_states = False

    def receive(self, seconds: float = ANSWER_SECONDS) -> Message | None:
        while message := super().receive(seconds):
            if message.type != "f" or self.hears_states:
                return message
        return None


class HearingClient(Hearing, Client):
    """The same, which rebuilds books."""


class Bench:
    """A running engine, and clients for its CompIDs."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.admissions = Admissions()
        # In a process, a CompID is one engine's only.
        self.comp_ids = [f"PARTNER{next(numbers):03d}" for _ in range(SESSIONS)]
        self.conflation = Conflation(feed, settings.FIX_CONFLATION_MS / 1000)
        self.sessions = Sessions(feed, self.conflation, self.admissions, self.comp_ids)
        self.engine = Engine(self.sessions, free_port())

    def start(self) -> None:
        self.conflation.start()
        self.engine.start()

    def stop(self, text: str) -> None:
        self.engine.stop(text)
        self.conflation.stop()

    def admit(
        self, number: int = 0, granted: Collection[str] = (), is_numbered: bool = False
    ) -> Admission:
        """What the listener would admit."""
        comp_id = self.comp_ids[number]
        admission = Admission(comp_id, "key", caller(granted), is_numbered)
        deadline = time.monotonic() + PATIENCE_SECONDS
        self.admissions.waiting[admission.ticket] = deadline, admission
        return admission

    def client(
        self, number: int = 0, granted: Collection[str] = (), **options: Any
    ) -> HearingClient:
        """A client with a ticket, which rebuilds books; not logged on yet."""
        return HearingClient(**self.options(number, granted) | options)

    def initiator(
        self,
        number: int = 0,
        granted: Collection[str] = (),
        is_numbered: bool = False,
        **options: Any,
    ) -> Hearing:
        """The same, which does nothing but keep the session up."""
        return Hearing(**self.options(number, granted, is_numbered) | options)

    def options(
        self, number: int, granted: Collection[str], is_numbered: bool = False
    ) -> dict[str, Any]:
        return {
            "host": "127.0.0.1",
            "port": self.engine.port,
            "sender": self.comp_ids[number],
            "target": settings.FIX_COMP_ID,
            "key": self.admit(number, granted, is_numbered).ticket,
        }

    # Where the feed is not started: the log of one book, and what a feed does with it.

    def change(self, book: LiveBook, *messages: Iterable[tuple[int, int, int]]) -> None:
        """Feed messages of changes (side, price, quantity) to the book."""
        rows: list[ChangeRow] = []
        for message in messages:
            changes = list(message)
            for place, (side, price, quantity) in enumerate(changes, 1):
                number = book.sequence + len(rows) + 1
                ends = place == len(changes)
                rows.append((number, side, price, quantity, ends, 0))
        book.extend(rows)
        self.changed(book)

    def trade(self, book: LiveBook, number: int) -> None:
        """Feed this many trades to the book; the n-th has a price of n cents."""
        first = book.last_trade + 1
        book.extend_trades(
            [TradeRow(n, n, 1, NOON) for n in range(first, first + number)]
        )
        self.changed(book)

    def changed(self, book: LiveBook) -> None:
        for on_change in self.feed.subscribers:
            on_change([book])


@contextlib.contextmanager
def running_engine(books: Collection[LiveBook] | None = None) -> Iterator[Bench]:
    """An engine over all books of the database, or over these, which no log moves."""
    feed = Feed()
    if books is None:
        feed.start()
    else:
        feed.books = {book.token_id: book for book in books}
        # No one looks at the log, and nothing in it becomes stale.
        feed.looked_at = math.inf
    bench = Bench(feed)
    bench.start()
    try:
        yield bench
    finally:
        bench.stop("The test is over.")
        feed.stop()


def market_data_request(
    request_id: str, *symbols: str, entry_types: str = "01", **fields: object
) -> list[tuple[int, object]]:
    """The fields of V; `fields` are called t263, t264 and so on."""
    head = {263: 1, 264: 0, 265: 1} | {int(t[1:]): value for t, value in fields.items()}
    return [
        (262, request_id),
        *((tag, value) for tag, value in sorted(head.items()) if value is not None),
        (267, len(entry_types)),
        *((269, entry_type) for entry_type in entry_types),
        (146, len(symbols)),
        *((55, symbol) for symbol in symbols),
    ]


def body_of(message: Message | None) -> str:
    """MsgType and what follows the header, with | for SOH."""
    assert message is not None
    header = {8, 9, 34, 35, 49, 52, 56, 10}
    fields = [f"{tag}={text}" for tag, text in message.fields if tag not in header]
    return "|".join([f"35={message.type}", *fields])


@contextlib.contextmanager
def logged_on(client: Initiator, bench: Bench) -> Iterator[LiveSession]:
    """Log on; the engine's side of it. The test ends it."""
    client.logon()
    try:
        until(lambda: client.sender in bench.sessions.live)
        yield bench.sessions.live[client.sender]
    finally:
        client.close()

"""A listener with its engine, without a database, for tests; clients have tickets."""

import asyncio
import contextlib
import itertools
import math
import signal
import ssl
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.test import override_settings

from accounts.access import Caller, Scope
from marketdata.books.feed import Feed, LiveBook
from marketdata.books.livebook import ChangeRow, TradeRow
from marketdata.fix.acceptor.conflation import Conflation
from marketdata.fix.acceptor.leases import Leases
from marketdata.fix.acceptor.listener import Listener
from marketdata.fix.acceptor.logon import (
    Admission,
    Admissions,
    CredentialsRefused,
)
from marketdata.fix.acceptor.session import LiveSession
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.client.client import Client
from marketdata.fix.client.initiator import ANSWER_SECONDS, Initiator
from marketdata.fix.protocol.wire import Message

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
    """Passes over states (f), which follow a W, unless a test asks for them."""

    hears_states = False

    def receive(self, seconds: float = ANSWER_SECONDS) -> Message | None:
        while message := super().receive(seconds):
            if message.type != "f" or self.hears_states:
                return message
        return None


class HearingClient(Hearing, Client):
    """The same, which rebuilds books."""


class Tickets(Admissions):
    """Admits each Logon with a ticket that a test has given out, once."""

    def __init__(self) -> None:
        super().__init__()
        self.valid: dict[str, Admission] = {}

    def admit(self, logon: Mapping[int, str], address: Any, now: datetime) -> Admission:
        admission = self.valid.pop(logon.get(554, ""), None)
        if admission is None or admission.comp_id != logon[49]:
            raise CredentialsRefused
        return admission


class Bench:
    """A running engine, and clients for its CompIDs."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.tickets = Tickets()
        self.loop = asyncio.new_event_loop()
        # In a process, a CompID is one engine's only.
        self.comp_ids = [f"PARTNER{next(numbers):03d}" for _ in range(SESSIONS)]
        interval = settings.FIX_CONFLATION_MS / 1000
        self.conflation = Conflation(feed, interval, self.loop)
        self.sessions = Sessions(feed, self.conflation, self.comp_ids, self.loop)
        self.engine = Engine(self.sessions)
        self.listener = Listener(self.tickets, self.sessions, self.engine)

    def start(self) -> None:
        with override_settings(FIX_PORT=0):
            self.listener.listen()
        self.conflation.start()
        self.listener.start()

    def stop(self, text: str) -> None:
        self.listener.end_sessions(text)
        self.listener.stop()
        self.engine.close()

    def call(self, call: Callable[..., object], *arguments: object) -> None:
        """Make a call in the loop's thread, and wait for its end."""

        async def called() -> None:
            call(*arguments)

        asyncio.run_coroutine_threadsafe(called(), self.loop).result()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """The loop does nothing meanwhile."""
        is_held, is_over = threading.Event(), threading.Event()

        def hold() -> None:
            is_held.set()
            is_over.wait()

        self.loop.call_soon_threadsafe(hold)
        is_held.wait()
        try:
            yield
        finally:
            is_over.set()

    def ticket(
        self, number: int = 0, granted: Collection[str] = (), is_numbered: bool = False
    ) -> str:
        """Lets a Logon in, once."""
        ticket = str(uuid4())
        admission = Admission(
            self.comp_ids[number], "key", caller(granted), is_numbered
        )
        self.tickets.valid[ticket] = admission
        return ticket

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
            "port": self.listener.port,
            "sender": self.comp_ids[number],
            "target": settings.FIX_COMP_ID,
            "key": self.ticket(number, granted, is_numbered),
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
        feed.stop()
        bench.stop("The test is over.")


@contextlib.contextmanager
def listening(
    context: ssl.SSLContext | None = None, leases: Leases | None = None
) -> Iterator[Listener]:
    """A listener that judges Logons by the database, before an engine without books."""
    loop = asyncio.new_event_loop()
    feed = Feed([])
    conflation = Conflation(feed, 0, loop)
    comp_ids = [f"PARTNER{number:03d}" for number in range(1, SESSIONS + 1)]
    sessions = Sessions(feed, conflation, comp_ids, loop)
    engine = Engine(sessions)
    listener = Listener(Admissions(), sessions, engine, context, leases)
    listener.listen()
    listener.start()
    try:
        yield listener
    finally:
        if listener.thread.is_alive():
            listener.stop()
        engine.close()


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
        yield bench.sessions.live[client.sender]
    finally:
        client.close()

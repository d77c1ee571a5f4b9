"""Writes the logs of the order books. Markets run its statement with their own.

The database keeps the numbers: a token's head has the last number of its log. A writer
that moves the head locks it until the end of the transaction. So numbers have no gaps
and become visible in order. A writer remembers its books, each with its number, and
checks every message against them. One statement then writes, if the log still ends at
the number of the writer's book. If another writer was first, the writer locks the head
and reads the book again. So each writer succeeds at the second attempt.
"""

import contextlib
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from cachetools import LRUCache
from django.db import connection, transaction
from django.db.backends.signals import connection_created

from issuers.models import Token
from issuers.register.errors import LedgerError
from issuers.register.ledger import UNPRICED, Price
from issuers.register.models import TokenPrice
from issuers.register.writer import Writer
from marketdata.books.notify import notify
from marketdata.books.orderbook import (
    Change,
    CrossedBook,
    ImpossibleChange,
    Ladder,
    OrderBook,
)
from partnerapi.core.database import array_text, value_of

logger = logging.getLogger(__name__)

SNAPSHOT_EVERY = 1_000
KEPT_BOOKS = 1_000
MAX = 2**63 - 1
HEAR_SECONDS = 1.0
"""How often a writer says that it follows its venue."""


class MarketClosed(Exception):
    """The token has no order book. The message says how it gets one."""


class Deal(NamedTuple):
    """A trade: a number of units, and a price in euro cents."""

    price: int
    quantity: int


class Message(NamedTuple):
    """One event of the market: its changes are applied whole."""

    changes: Sequence[Change] = ()
    deals: Sequence[Deal] = ()


class Recorded(NamedTuple):
    """The last numbers of a token's changes and trades, and the time of the call."""

    sequence: int
    trade: int
    at: datetime


class BookState(NamedTuple):
    """A token's book at the change `sequence`; at `due` the next snapshot is due."""

    book: OrderBook
    sequence: int
    due: int


@dataclass(slots=True)
class Kept:
    """A token's book in this process's memory, for one thread at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    state: BookState | None = None
    is_contended: bool = False


def record(token_id: UUID, messages: Sequence[Message], actor: str) -> Recorded:
    """Append messages to a token's log: all of them or none, at the present instant.

    A change's price is in euro cents, its quantity the level's units from then on.
    After each message the best bid must be below the best ask. Deals become trades. The
    last one sets the token's price, recorded under `actor`. A price that the register
    refuses is logged there, and the trades stand.

    An enclosing transaction locks the log until it ends. A transaction that writes
    several logs must take them in the order of the tokens' ids.

    Raises:
        MarketClosed: there is no such token, or it is not on the secondary market.
        ImpossibleChange: a change that the book cannot make, or a price or quantity
            that no order has.
        CrossedBook: a message leaves the book crossed.
        OperationalError: PostgreSQL does not answer. Where the connection ended in the
            middle, all of the call may yet be in the log; the next call connects anew.
    """
    rows = Rows(messages)
    try:
        recorded = write(token_id, messages, rows, actor)
    except (ImpossibleChange, CrossedBook) as error:
        symbol = Token.objects.values_list("symbol", flat=True).get(pk=token_id)
        raise type(error)(f"{symbol}: {error}") from None
    transaction.on_commit(partial(notify, token_id))
    return recorded


def hear(token_ids: Iterable[UUID]) -> None:
    """Report that the writer of these books follows their venues without a change.

    Call it every HEAR_SECONDS. A book whose reports have stopped counts as out of date.
    A book without any report counts as current. Internal markets are skipped.

    Raises:
        OperationalError: PostgreSQL does not answer.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT marketdata_hear(%s::uuid[])", [list(token_ids)])


class Rows:
    """Messages as the columns of the log's tables."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.sides: list[int] = []
        self.prices: list[int] = []
        self.quantities: list[int] = []
        self.ends: list[bool] = []
        for changes, _ in messages:
            for side, price, quantity in changes:
                self.sides.append(side)
                self.prices.append(price)
                self.quantities.append(quantity)
            if changes:
                self.ends += [False] * (len(changes) - 1)
                self.ends.append(True)
        deals = list(chain.from_iterable(message.deals for message in messages))
        self.deal_prices = [price for price, _ in deals]
        self.deal_quantities = [quantity for _, quantity in deals]

    def check(self) -> None:
        """Refuse numbers that no order can have. OrderBook checks the rest."""
        for name, numbers, least in (
            ("change's price", self.prices, 1),
            ("change's quantity", self.quantities, 0),
            ("trade's price", self.deal_prices, 1),
            ("trade's quantity", self.deal_quantities, 1),
        ):
            if numbers and not least <= min(numbers) <= max(numbers) <= MAX:
                wrong = next(n for n in numbers if not least <= n <= MAX)
                raise ImpossibleChange(
                    f"A {name} is {wrong}; it must be {least} to {MAX}."
                )


def write(
    token_id: UUID, messages: Sequence[Message], rows: Rows, actor: str
) -> Recorded:
    if not connection.get_autocommit():
        # The enclosing transaction may be rolled back, so nothing is remembered.
        _, recorded = write_locked(token_id, messages, rows, actor)
        return recorded
    connection.close_if_unusable_or_obsolete()
    connection.close_if_health_check_failed()
    # A new connection forgets all books. So connect before trusting one.
    connection.ensure_connection()
    mine = kept_of(token_id)
    with mine.lock:
        state, mine.state = mine.state, None
        written = None
        if state is not None and not mine.is_contended:
            # An error means nothing if the book is not the newest.
            with contextlib.suppress(ImpossibleChange, CrossedBook):
                written = append(token_id, state, messages, rows, actor)
        if written is None:
            written = write_locked(token_id, messages, rows, actor)
            found = written[1].sequence - len(rows.prices)
            # While others also write, the first attempt would fail again.
            mine.is_contended = state is not None and state.sequence != found
        mine.state, recorded = written
    return recorded


def write_locked(
    token_id: UUID, messages: Sequence[Message], rows: Rows, actor: str
) -> tuple[BookState, Recorded]:
    with transaction.atomic():
        state = lock_book(token_id)
        written = append(token_id, state, messages, rows, actor)
        assert written is not None, "a locked head does not move"
    return written


def append(
    token_id: UUID,
    state: BookState,
    messages: Sequence[Message],
    rows: Rows,
    actor: str,
) -> tuple[BookState, Recorded] | None:
    """Apply messages to a book and write them; None if the log ends elsewhere.

    If it returns None, the book must not be used again.

    Raises:
        ImpossibleChange, CrossedBook: what the first wrong message breaks.
    """
    rows.check()
    book = state.book
    for changes, _ in messages:
        book.apply(changes)
    sequence = state.sequence + len(rows.prices)
    due = state.due
    is_due = sequence >= due
    if is_due:
        due = next_snapshot(sequence, book.ladder())
    columns = (
        rows.sides, rows.prices, rows.quantities, rows.ends,
        rows.deal_prices, rows.deal_quantities,
    )  # fmt: skip
    texts = [array_text(column) for column in columns]
    parameters = (token_id, state.sequence, *texts, is_due)
    if rows.deal_prices:
        with transaction.atomic():
            recorded = execute(parameters)
            if recorded is not None:
                # Deals of one call have the same time. Only the last becomes the price.
                price(token_id, rows.deal_prices[-1], actor)
    else:
        recorded = execute(parameters)
    if recorded is None:
        return None
    return BookState(book, sequence, due), recorded


def price(token_id: UUID, cents: int, actor: str) -> None:
    """Make the last deal's price that of the token, where the register can hold it."""
    writer = Writer([token_id], actor)
    ledger = writer.ledgers[token_id]
    try:
        writer.price(Price(token_id, cents, TokenPrice.Source.TRADE), ledger.now)
    except LedgerError as error:
        # No person sees the refusal of a trade's price; it is logged.
        logger.error(UNPRICED, error)
    else:
        value_of("SELECT marketdata_price(%s, %s)", [token_id, actor])


def next_snapshot(sequence: int, ladder: Ladder) -> int:
    """The change at which the next snapshot is due, after one at `sequence`.

    Thus all snapshots of a deep book together are no larger than its log.
    """
    return sequence + max(SNAPSHOT_EVERY, len(ladder.bids) + len(ladder.asks))


def execute(parameters: Sequence[Any]) -> Recorded | None:
    with connection.cursor() as cursor:
        cursor.execute(RECORD, parameters)
        row = cursor.fetchone()
    return None if row is None else Recorded(*row)


def lock_book(token_id: UUID) -> BookState:
    """Read a token's book with its head locked until the end of the transaction.

    Raises:
        MarketClosed: there is none.
    """
    with connection.cursor() as cursor:
        cursor.execute(LOCK_BOOK, [token_id])
        row = cursor.fetchone()
    if row is None:
        raise market_closed(token_id)
    sequence, snapshot, *levels = row
    book = OrderBook(zip(*(column or () for column in levels), strict=True))
    return BookState(book, sequence, next_snapshot(snapshot, book.ladder()))


def market_closed(token_id: UUID) -> MarketClosed:
    symbol = Token.objects.values_list("symbol", flat=True).filter(pk=token_id).first()
    if symbol is None:
        return MarketClosed(f"There is no token {token_id}.")
    return MarketClosed(
        f"{symbol} is not on the secondary market and has no order book; "
        f"market open-secondary {symbol} opens one."
    )


kept: LRUCache[UUID, Kept] = LRUCache(KEPT_BOOKS)
kept_lock = threading.Lock()


def forget(**connected: object) -> None:
    """Forget all books when a connection to PostgreSQL is made.

    A database after a restore or a failover may have lost changes. It may give their
    numbers to other changes.
    """
    with kept_lock:
        kept.clear()


connection_created.connect(forget)


def kept_of(token_id: UUID) -> Kept:
    with kept_lock:
        return kept.setdefault(token_id, Kept())


RECORD = """
    SELECT sequence, trade, at FROM marketdata_record(
        %s, %s, %s::smallint[], %s::bigint[], %s::bigint[], %s::boolean[],
        %s::bigint[], %s::bigint[], %s)
"""

LOCK_BOOK = """
    SELECT sequence, snapshot, sides, prices, quantities FROM marketdata_lock_book(%s)
"""

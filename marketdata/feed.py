"""Keeps order books current from their logs, for any number of tokens.

The tables are the truth. Every second all heads are compared with the books; in
between the bell says which logs have grown. Either way what follows a book's last
number is read, and whole messages are applied. A book that the log no longer leads on
from is made anew from the newest snapshot and what follows it.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from threading import Event, Thread
from time import monotonic
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction

from marketdata.hearing import Hearing
from marketdata.livebook import EPOCH, BrokenLog, LiveBook, PrunedLog, TradeRow
from marketdata.orderbook import ASK, BID, Change, CrossedBook, ImpossibleChange
from partnerapi.engine.pages import fetch

__all__ = ["Feed", "LiveBook"]

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
ROUND_SECONDS = 0.005
"""Between the beginnings of two rounds, so that a busy market costs no whole core."""
PAGE_ROWS = 5_000
"""Of one token, read at once."""
RECENT_TRADES = 100
"""Read when a book is made."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0
"""Between attempts to reach PostgreSQL."""

Heard = Callable[[Collection[LiveBook]], None]
Broken = dict[LiveBook, ValueError]


class Feed:
    """The books of some tokens, or of every token on the secondary market (None).

    `books` is replaced, never changed, when tokens come or go: who walks over it walks
    over one state of it.
    """

    def __init__(self, token_ids: Iterable[UUID] | None = None) -> None:
        self.token_ids = None if token_ids is None else list(token_ids)
        self.books: dict[UUID, LiveBook] = {}
        self.listeners: list[Heard] = []
        # What listeners were not told yet, and what is still to be made anew: both
        # outlast an outage that comes between.
        self.changed: set[LiveBook] = set()
        self.broken: Broken = {}
        # Why a book could not be made; said once.
        self.unsound: dict[UUID, str] = {}
        self.look_at = 0.0
        self.is_away = False
        self.pause = FIRST_PAUSE_SECONDS
        self.stopping = Event()
        self.hearing = Hearing(self.stopping)
        self.thread = Thread(target=self.run, name="order books", daemon=True)

    def listen(self, heard: Heard) -> None:
        """Have the feed's thread call this with the books that changed, each round.

        Those count, too, whose token was renamed, hidden or withdrawn. What it raises
        ends the feed.
        """
        self.listeners.append(heard)

    def start(self) -> None:
        """Make all books, then follow the log in a thread.

        Raises:
            OperationalError: PostgreSQL does not answer.
        """
        self.look()
        # Whoever listens finds these in `books`.
        self.changed = set()
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        if self.is_alive:
            self.thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the log is followed; an unforeseen error would have ended that."""
        return self.thread.is_alive()

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                rung = self.hearing.wait(self.look_at - monotonic())
                began = monotonic()
                self.attempt(rung)
                changed, self.changed = self.changed, set()
                if changed:
                    for heard in self.listeners:
                        heard(changed)
                self.stopping.wait(began + ROUND_SECONDS - monotonic())
        finally:
            self.hearing.close()
            connection.close()

    def attempt(self, rung: Iterable[UUID]) -> None:
        """Make a round; where PostgreSQL does not answer, pause for a while."""
        # A connection that has ended meanwhile is replaced without a word.
        connection.close_if_unusable_or_obsolete()
        try:
            if monotonic() >= self.look_at:
                self.look()
            else:
                books = [self.books[one] for one in rung if one in self.books]
                advance(books, self.changed, self.broken)
                self.rebuild()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if not self.is_away:
                self.is_away = True
                logger.warning(
                    "PostgreSQL does not answer (%s): order books wait", error
                )
            # All heads are compared as soon as it answers.
            self.look_at = 0.0
            self.stopping.wait(self.pause)
            self.pause = min(2 * self.pause, LONGEST_PAUSE_SECONDS)
            return
        if self.is_away:
            self.is_away = False
            self.pause = FIRST_PAUSE_SECONDS
            logger.info("PostgreSQL answers again: order books are followed")

    def look(self) -> None:
        """Compare all heads and tokens with the books, and catch up."""
        rows = fetch(LOOK, [self.token_ids, self.token_ids], tuple)
        self.look_at = monotonic() + LOOK_SECONDS
        new = []
        behind: dict[LiveBook, int] = {}
        for token_id, *facts, last_sequence, last_trade in rows:
            book = self.books.get(token_id)
            if book is None:
                new.append(token_id)
                continue
            if book.describe(*facts):
                self.changed.add(book)
            if last_sequence < book.read or last_trade < book.last_trade:
                self.broken[book] = BrokenLog(
                    f"it ends at change {last_sequence} and trade {last_trade}, before "
                    f"{book.read} and {book.last_trade}"
                )
            elif (last_sequence, last_trade) != (book.read, book.last_trade):
                behind[book] = last_sequence
        advance(behind, self.changed, self.broken)
        for book, last_sequence in behind.items():
            if book.read < last_sequence:
                self.broken.setdefault(
                    book, PrunedLog(f"change {book.read + 1} is gone")
                )
        self.rebuild()
        self.open(new)
        listed = {row[0] for row in rows}
        self.close([one for one in self.books if one not in listed])

    def rebuild(self) -> None:
        """Make the books anew that their logs do not lead on from.

        Where the log has gone another way another LiveBook takes the place: so numbers
        of one are always of one history.
        """
        if not self.broken:
            return
        made = self.make(book.token_id for book in self.broken)
        replaced = []
        for book, reason in self.broken.items():
            was_pruned = isinstance(reason, PrunedLog)
            logger.log(
                logging.WARNING if was_pruned else logging.ERROR,
                "The log of %s does not lead on from change %d (%s): its book is made "
                "anew from the newest snapshot",
                book.symbol, book.sequence, reason,
            )  # fmt: skip
            if was_pruned and book.token_id in made:
                book.adopt(made.pop(book.token_id))
                self.changed.add(book)
            else:
                replaced.append(book.token_id)
        self.broken = {}
        self.close(replaced)
        self.add(made)

    def open(self, token_ids: Collection[UUID]) -> None:
        if token_ids:
            self.add(self.make(token_ids))

    def add(self, made: dict[UUID, LiveBook]) -> None:
        if made:
            self.books = self.books | made
            self.changed.update(made.values())

    def close(self, token_ids: Collection[UUID]) -> None:
        if token_ids:
            closed = {one: self.books[one] for one in token_ids}
            for book in closed.values():
                book.live = False
            self.books = {n: b for n, b in self.books.items() if n not in closed}
            self.changed.update(closed.values())

    def make(self, token_ids: Iterable[UUID]) -> dict[UUID, LiveBook]:
        """Books from their newest snapshots and what follows; those that can be made.

        The others are tried again with each look.
        """
        made, broken = make_books(list(token_ids))
        for book, reason in broken.items():
            if self.unsound.get(book.token_id) != str(reason):
                self.unsound[book.token_id] = str(reason)
                logger.error(
                    "The order book of %s can not be made from its newest snapshot and "
                    "its log (%s): it is not served; see verify_books",
                    book.symbol, reason,
                )  # fmt: skip
        for token_id in made:
            self.unsound.pop(token_id, None)
        return made


def make_books(token_ids: list[UUID]) -> tuple[dict[UUID, LiveBook], Broken]:
    made: dict[UUID, LiveBook] = {}
    broken: Broken = {}
    ends: dict[LiveBook, int] = {}
    # All statements see one state: nobody prunes the log between them.
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for row in fetch(NEWEST, [token_ids], tuple):
            token_id, *facts, last_sequence, last_trade, sequence, at = row[:-4]
            book = made[token_id] = LiveBook(token_id, *facts)
            ends[book] = last_sequence
            try:
                book.stand_at(sequence, at and instant(at), levels(*row[-4:]))
            except ValueError as error:
                # Columns of different lengths, or levels that no book has.
                broken[book] = error
            book.last_trade = last_trade
        by_place = [book for book in ends if book not in broken]
        ids = [book.token_id for book in by_place]
        for place, *trade in fetch(RECENT_TRADES_OF, [ids], tuple):
            by_place[place - 1].trades.appendleft(as_trade(*trade))
        advance(by_place, set(), broken)
    for book, last_sequence in ends.items():
        if book.sequence != last_sequence and book not in broken:
            broken[book] = BrokenLog(
                f"it ends at change {book.sequence}, its head at {last_sequence}"
            )
    for book in broken:
        del made[book.token_id]
    return made, broken


def levels(
    bid_prices: list[int],
    bid_quantities: list[int],
    ask_prices: list[int],
    ask_quantities: list[int],
) -> Iterable[Change]:
    for price, quantity in zip(bid_prices, bid_quantities, strict=True):
        yield Change(BID, price, quantity)
    for price, quantity in zip(ask_prices, ask_quantities, strict=True):
        yield Change(ASK, price, quantity)


def instant(microseconds: int) -> datetime:
    return EPOCH + timedelta(microseconds=microseconds)


def as_trade(number: int, price: int, quantity: int, at: int) -> TradeRow:
    return TradeRow(number, price, quantity, instant(at))


def advance(books: Iterable[LiveBook], moved: set[LiveBook], broken: Broken) -> None:
    """Read on in the logs to their ends; note which books moved, and which can not.

    Two statements for all books, and more only for more than a page of one of them.
    """
    behind = list(books)
    while behind:
        ids = [book.token_id for book in behind]
        pages = fetch(CHANGES, [ids, [book.read for book in behind]], tuple)
        more = set()
        for place, page in groupby(pages, itemgetter(0)):
            book = behind[place - 1]
            rows = [row[1:] for row in page]
            try:
                if book.extend(rows):
                    moved.add(book)
            except (BrokenLog, ImpossibleChange, CrossedBook) as error:
                broken[book] = error
            else:
                if len(rows) == PAGE_ROWS:
                    more.add(book)
        pages = fetch(TRADES, [ids, [book.last_trade for book in behind]], tuple)
        for place, page in groupby(pages, itemgetter(0)):
            book = behind[place - 1]
            trades = [as_trade(*trade) for _, *trade in page]
            try:
                book.extend_trades(trades)
            except BrokenLog as error:
                broken[book] = error
                continue
            moved.add(book)
            if len(trades) == PAGE_ROWS:
                more.add(book)
        behind = [book for book in behind if book in more and book not in broken]


TOKEN = "t.symbol, t.isin, t.name, t.issuer_id::text, t.visibility = 'PUBLIC'"
# Loading a timestamptz takes longer than all other columns of a row together.
MICROSECONDS = "(extract(epoch FROM {}.at) * 1000000)::bigint"

LOOK = f"""
    SELECT h.token_id, {TOKEN}, h.last_sequence, h.last_trade
    FROM marketdata_orderbookhead h JOIN issuers_token t ON t.id = h.token_id
    WHERE t.market_type = 'SECONDARY_MARKET'
      AND (%s::uuid[] IS NULL OR h.token_id = ANY (%s::uuid[]))
"""  # noqa: S608
NEWEST = f"""
    SELECT h.token_id, {TOKEN}, h.last_sequence, h.last_trade,
        coalesce(s.sequence, 0), {MICROSECONDS.format("s")},
        coalesce(s.bid_prices, '{{}}'), coalesce(s.bid_quantities, '{{}}'),
        coalesce(s.ask_prices, '{{}}'), coalesce(s.ask_quantities, '{{}}')
    FROM marketdata_orderbookhead h
    JOIN issuers_token t ON t.id = h.token_id
    LEFT JOIN LATERAL (
        SELECT * FROM marketdata_booksnapshot s WHERE s.token_id = h.token_id
        ORDER BY s.sequence DESC LIMIT 1
    ) s ON TRUE
    WHERE h.token_id = ANY (%s::uuid[])
"""  # noqa: S608
# From the last row that was read: a log that was restored, and has gone on in another
# way, would else lead on from any book.
CHANGES = f"""
    SELECT w.place, c.sequence, c.side, c.price_cents, c.quantity, c.ends_message,
        {MICROSECONDS.format("c")}
    FROM unnest(%s::uuid[], %s::bigint[]) WITH ORDINALITY w (token_id, read, place)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_bookchange c
        WHERE c.token_id = w.token_id AND c.sequence >= w.read
        ORDER BY c.sequence LIMIT {PAGE_ROWS}
    ) c
    ORDER BY w.place, c.sequence
"""  # noqa: S608
TRADES = f"""
    SELECT w.place, d.sequence, d.price_cents, d.quantity, {MICROSECONDS.format("d")}
    FROM unnest(%s::uuid[], %s::bigint[]) WITH ORDINALITY w (token_id, last, place)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_trade d
        WHERE d.token_id = w.token_id AND d.sequence > w.last
        ORDER BY d.sequence LIMIT {PAGE_ROWS}
    ) d
    ORDER BY w.place, d.sequence
"""  # noqa: S608
RECENT_TRADES_OF = f"""
    SELECT w.place, d.sequence, d.price_cents, d.quantity, {MICROSECONDS.format("d")}
    FROM unnest(%s::uuid[]) WITH ORDINALITY w (token_id, place)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_trade d WHERE d.token_id = w.token_id
        ORDER BY d.sequence DESC LIMIT {RECENT_TRADES}
    ) d
    ORDER BY w.place, d.sequence DESC
"""  # noqa: S608

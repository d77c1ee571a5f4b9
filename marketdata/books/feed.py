"""Keeps order books current from their logs, for any number of tokens.

The tables are the truth. Every second the feed compares all heads with the books. In
between, notifications name the logs that have grown. Either way it reads the changes
after a book's last number and applies whole messages. If the log does not continue a
book, the feed rebuilds the book from the newest snapshot and the changes after it.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from threading import Event, Thread
from time import monotonic
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection

from marketdata.books.days import day_of, read_last_days
from marketdata.books.listen import GrowthListener
from marketdata.books.livebook import BrokenLog, LiveBook, PrunedLog
from marketdata.books.reading import Broken, advance, make_books, read_heads
from partnerapi.core.outages import Outage

__all__ = ["Feed", "LiveBook"]

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
ROUND_SECONDS = 0.005
"""Between the beginnings of two rounds, so that a busy market costs no whole core."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 2.0
"""Between attempts to reach PostgreSQL."""

OnChange = Callable[[Collection[LiveBook]], None]


class Feed:
    """The books of some tokens, or of every token that `read_heads` finds (None).

    `books` is replaced, never changed, when tokens come or go: an iteration sees one
    state of it. Rounds begin at least `round_seconds` apart.
    """

    def __init__(
        self,
        token_ids: Iterable[UUID] | None = None,
        round_seconds: float = ROUND_SECONDS,
    ) -> None:
        self.round_seconds = round_seconds
        self.token_ids = None if token_ids is None else list(token_ids)
        self.books: dict[UUID, LiveBook] = {}
        # Counts arrivals, departures and renamings of tokens, and writers that fell
        # silent or came back.
        self.described = 0
        self.subscribers: list[OnChange] = []
        # Books not yet reported to subscribers, and books to rebuild. Both sets outlast
        # an outage.
        self.changed: set[LiveBook] = set()
        self.broken: Broken = {}
        # Why a book could not be built; logged once.
        self.unsound: dict[UUID, str] = {}
        self.look_at = 0.0
        self.looked_at = monotonic()
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): order books wait",
            back="PostgreSQL answers again: order books are followed",
        )
        self.pause = FIRST_PAUSE_SECONDS
        self.stopping = Event()
        self.growth = GrowthListener(self.stopping)
        self.thread = Thread(target=self.run, name="order books", daemon=True)

    def subscribe(self, on_change: OnChange) -> None:
        """Have the feed's thread pass each round's changed books to this call.

        A book also counts as changed when its token was renamed, hidden or withdrawn.
        An exception from the call ends the feed.
        """
        self.subscribers.append(on_change)

    def start(self) -> None:
        """Build all books, then follow the log in a thread.

        Raises:
            OperationalError: PostgreSQL does not answer.
        """
        self.look()
        # Subscribers find these in `books`.
        self.changed = set()
        self.thread.start()

    def stop(self) -> None:
        self.stopping.set()
        if self.is_alive:
            self.thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the feed follows the log. An unforeseen error ends its thread."""
        return self.thread.is_alive()

    @property
    def lag(self) -> float:
        """Seconds since the books were compared with all heads."""
        return monotonic() - self.looked_at

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                grown = self.growth.wait(self.look_at - monotonic())
                began = monotonic()
                self.attempt(grown)
                changed, self.changed = self.changed, set()
                if changed:
                    for on_change in self.subscribers:
                        on_change(changed)
                self.stopping.wait(began + self.round_seconds - monotonic())
        finally:
            self.growth.close()
            connection.close()

    def attempt(self, grown: Iterable[UUID]) -> None:
        """Run a round. If PostgreSQL does not answer, pause for a while."""
        # A connection that has ended meanwhile is replaced. This is not logged.
        connection.close_if_unusable_or_obsolete()
        try:
            if monotonic() >= self.look_at:
                self.look()
            else:
                books = [self.books[one] for one in grown if one in self.books]
                advance(books, self.changed, self.broken)
                self.rebuild()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            self.outage.begin(error)
            # Compare all heads as soon as it answers.
            self.look_at = 0.0
            self.stopping.wait(self.pause)
            self.pause = min(2 * self.pause, LONGEST_PAUSE_SECONDS)
            return
        self.pause = FIRST_PAUSE_SECONDS
        self.outage.end()

    def look(self) -> None:
        """Compare all heads and tokens with the books, and catch up."""
        today = day_of(datetime.now(UTC))
        rows = read_heads(self.token_ids)
        self.look_at = monotonic() + LOOK_SECONDS
        new = []
        busted: list[LiveBook] = []
        behind: dict[LiveBook, int] = {}
        for token_id, *facts, is_silent, last_sequence, last_trade in rows:
            book = self.books.get(token_id)
            if book is None:
                new.append(token_id)
                continue
            busts = book.busts
            if book.describe(*facts):
                self.changed.add(book)
                if book.busts != busts:
                    busted.append(book)
                self.described += 1
            if book.is_silent != is_silent:
                book.is_silent = is_silent
                self.changed.add(book)
                self.described += 1
            if last_sequence < book.read or last_trade < book.last_trade:
                self.broken[book] = BrokenLog(
                    f"it ends at change {last_sequence} and trade {last_trade}, "
                    f"before change {book.read} and trade {book.last_trade}, which "
                    "were read"
                )
            elif (last_sequence, last_trade) != (book.read, book.last_trade):
                behind[book] = last_sequence
        if busted:
            days = read_last_days([book.token_id for book in busted], 2)
            for book in busted:
                book.count_anew(days.get(book.token_id, []))
                book.end_day(today)
        advance(behind, self.changed, self.broken)
        for book, last_sequence in behind.items():
            if book.read < last_sequence:
                self.broken.setdefault(
                    book, PrunedLog(f"change {book.read + 1} is missing")
                )
        self.rebuild()
        self.open(new)
        self.changed.update(b for b in self.books.values() if b.end_day(today))
        self.looked_at = monotonic()
        listed = {row[0] for row in rows}
        self.close([one for one in self.books if one not in listed])

    def rebuild(self) -> None:
        """Rebuild the books that their logs do not continue.

        If a log has taken another course, a new LiveBook replaces the old one. So the
        numbers of one LiveBook always belong to one history.
        """
        if not self.broken:
            return
        made = self.make(book.token_id for book in self.broken)
        replaced = []
        for book, reason in self.broken.items():
            was_pruned = isinstance(reason, PrunedLog)
            logger.log(
                logging.WARNING if was_pruned else logging.ERROR,
                "The log of %s does not continue from change %d (%s): its book is "
                "rebuilt from the newest snapshot",
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
            self.described += 1
            self.changed.update(made.values())

    def close(self, token_ids: Collection[UUID]) -> None:
        if token_ids:
            closed = {one: self.books[one] for one in token_ids}
            for book in closed.values():
                book.live = False
            self.books = {n: b for n, b in self.books.items() if n not in closed}
            self.described += 1
            self.changed.update(closed.values())

    def make(self, token_ids: Iterable[UUID]) -> dict[UUID, LiveBook]:
        """The books that can be built from their newest snapshots and later changes.

        Each look tries the others again.
        """
        made, broken = make_books(list(token_ids))
        for book, reason in broken.items():
            if self.unsound.get(book.token_id) != str(reason):
                self.unsound[book.token_id] = str(reason)
                logger.error(
                    "The order book of %s cannot be built from its newest snapshot "
                    "and its log (%s), and is not served; see verify books",
                    book.symbol, reason,
                )  # fmt: skip
        for token_id in made:
            self.unsound.pop(token_id, None)
        return made

"""Verifies the order books' logs and the tables derived from them.

Each book is rebuilt, message by message, from the beginning of its log: from nothing,
or from the oldest snapshot if the changes before it were pruned.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction

from issuers.models import Token
from marketdata.books.days import compare_days
from marketdata.books.livebook import NumberedLadder
from marketdata.books.orderbook import (
    ASK,
    BID,
    CrossedBook,
    ImpossibleChange,
    Ladder,
    Level,
    OrderBook,
)
from marketdata.models import (
    BookChange,
    BookLevel,
    BookSnapshot,
    OrderBookHead,
    Side,
)
from partnerapi.core.database import SCHEMA_FIRST, rows_of
from partnerapi.core.guarding import compare_guards

ROWS_AT_ONCE = 5_000


@dataclass(slots=True)
class Rule:
    """`figure` is the number of comparisons; each breach is a sentence."""

    says: str
    figure: int = 0
    breaches: list[str] = field(default_factory=list)


class Rules:
    def __init__(self) -> None:
        self.logs = Rule("tokens on the secondary market have a log, and no others do")
        self.changes = Rule(
            "changes are numbered without gaps, up to the head's number"
        )
        self.trades = Rule("trades are numbered without gaps, up to the head's number")
        self.days = Rule("figures of trading days equal those of their trades")
        self.times = Rule("times never decrease")
        self.digests = Rule("changes and trades are as they were written")
        self.messages = Rule("every message is valid, and leaves a valid book")
        self.snapshots = Rule("snapshots equal the books rebuilt from the log")
        self.levels = Rule("levels equal those of the books rebuilt from the log")
        self.feed = Rule("the feed's books equal the books rebuilt from the log")
        self.guards = Rule("the guards equal those of the migrations")

    def all(self) -> list[Rule]:
        return list(vars(self).values())


def verify(
    tokens: Collection[Token],
    feed: Mapping[UUID, NumberedLadder | None],
    advance: Callable[[int], object] = lambda done: None,
) -> list[Rule]:
    """Check the logs of these tokens, each at one instant.

    `feed` has a feed's books by token. None: the token had a log when the feed started,
    but the feed has no book for it. `advance` receives the number of changes read.
    """
    rules = Rules()
    for token in tokens:
        with transaction.atomic(durable=True):
            with connection.cursor() as cursor:
                cursor.execute(ONE_INSTANT)
                cursor.execute(SCHEMA_FIRST)
            Verification(token, rules, feed).run(advance)
    rules.guards.figure, wrong = compare_guards()
    rules.guards.breaches.extend(wrong)
    return rules.all()


class Verification:
    """Verifies one token, in a transaction that sees one instant."""

    def __init__(
        self, token: Token, rules: Rules, feed: Mapping[UUID, NumberedLadder | None]
    ) -> None:
        self.token = token
        self.rules = rules
        self.feed_book = feed.get(token.pk)
        self.lacks_feed = token.pk in feed and self.feed_book is None
        self.sequence = 0
        self.at: datetime | None = None
        # None: unknown until the next snapshot.
        self.book: OrderBook | None = OrderBook()
        self.snapshots: Iterator[BookSnapshot] = (
            BookSnapshot.objects.filter(token=token).order_by("sequence").iterator(100)
        )
        self.snapshot = next(self.snapshots, None)
        self.newest_snapshot = 0

    def breach(self, rule: Rule, text: str) -> None:
        rule.breaches.append(f"{self.token.symbol}: {text}")

    def run(self, advance: Callable[[int], object]) -> None:
        head = OrderBookHead.objects.filter(token=self.token).first()
        # The market may have been opened since the token was read.
        is_open = Token.objects.filter(
            pk=self.token.pk, market_type=Token.MarketType.SECONDARY_MARKET
        ).exists()
        self.rules.logs.figure += 1
        if is_open != (head is not None):
            what = "no log" if is_open else "a log"
            market = "on the secondary market" if is_open else "on the primary market"
            self.breach(self.rules.logs, f"it is {market} but has {what}")
        if head is None:
            return
        if self.lacks_feed:
            self.breach(self.rules.feed, "the feed has no book for it")
        covered = self.snapshot.sequence if self.snapshot else 0
        covered_trade = self.snapshot.trade_sequence if self.snapshot else 0
        first = self.read_changes(covered, advance)
        self.check_end(head)
        # Changes are pruned before trades.
        self.check_trades(head, 0 if first == 1 else covered_trade)
        self.check_days()
        self.check_digests()
        self.check_levels()

    def read_changes(
        self, covered: int, advance: Callable[[int], object]
    ) -> int | None:
        """Rebuild the book; returns the number of the first change, None: none.

        `covered` is the change of the oldest snapshot.
        """
        changes = BookChange.objects.filter(token=self.token).order_by("sequence")
        first = changes.values_list("sequence", flat=True).first()
        if first != 1:
            # Pruning ends at the oldest snapshot, or before it.
            self.sequence = covered if first is None else min(first - 1, covered)
            if first is not None or covered:
                self.book = None
        self.compare()
        message: list[tuple[int, int, int]] = []
        rows = changes.values_list(
            "sequence", "side", "price_cents", "quantity", "ends_message", "at"
        )
        read = 0
        for sequence, side, price, quantity, ends, at in rows.iterator(ROWS_AT_ONCE):
            if sequence != self.sequence + 1:
                self.breach(
                    self.rules.changes,
                    f"change {sequence:,} follows {self.sequence:,}",
                )
                self.book = None
            if self.at is not None and at < self.at:
                self.breach(
                    self.rules.times,
                    f"change {sequence:,} is earlier than the one before",
                )
            self.sequence, self.at = sequence, at
            message.append((side, price, quantity))
            if ends:
                self.apply(message)
                message = []
                self.compare()
            read += 1
            if read % ROWS_AT_ONCE == 0:
                advance(ROWS_AT_ONCE)
        advance(read % ROWS_AT_ONCE)
        self.rules.changes.figure += read
        self.rules.times.figure += read
        if message:
            self.breach(
                self.rules.messages, f"no message ends at change {self.sequence:,}"
            )
        return first

    def apply(self, message: list[tuple[int, int, int]]) -> None:
        self.rules.messages.figure += 1
        if self.book is None:
            return
        try:
            self.book.apply(message)
        except (ImpossibleChange, CrossedBook) as error:
            self.breach(
                self.rules.messages,
                f"the message that ends at change {self.sequence:,}: {error}",
            )
            self.book = None

    def compare(self) -> None:
        """Compare the book with the snapshot and the feed's book at the same change."""
        while self.snapshot and self.snapshot.sequence < self.sequence:
            self.breach(
                self.rules.snapshots,
                f"the snapshot at change {self.snapshot.sequence:,} is within a "
                "message",
            )
            self.pass_snapshot()
        if self.snapshot and self.snapshot.sequence == self.sequence:
            self.compare_snapshot(self.snapshot)
            self.pass_snapshot()
        if self.feed_book and self.feed_book.sequence == self.sequence and self.book:
            self.rules.feed.figure += 1
            if self.feed_book.ladder != self.book.ladder():
                self.breach(
                    self.rules.feed, f"the feed differs at change {self.sequence:,}"
                )
            self.feed_book = None

    def pass_snapshot(self) -> None:
        assert self.snapshot is not None
        self.newest_snapshot = self.snapshot.sequence
        self.snapshot = next(self.snapshots, None)

    def compare_snapshot(self, snapshot: BookSnapshot) -> None:
        self.rules.snapshots.figure += 1
        ladder = ladder_of(snapshot)
        where = f"the snapshot at change {snapshot.sequence:,}"
        if self.at is not None and snapshot.at != self.at:
            self.breach(self.rules.snapshots, f"{where} has a different time")
        if self.book is not None:
            if self.book.ladder() != ladder:
                self.breach(self.rules.snapshots, f"{where} is a different book")
            return
        try:
            self.book = OrderBook(
                (side, price, quantity)
                for side in (BID, ASK)
                for price, quantity in ladder[side]
            )
        except (ImpossibleChange, CrossedBook) as error:
            self.breach(self.rules.snapshots, f"{where}: {error}")

    def check_end(self, head: OrderBookHead) -> None:
        if self.sequence != head.last_sequence:
            self.breach(
                self.rules.changes,
                f"the last one is {self.sequence:,}, the head has "
                f"{head.last_sequence:,}",
            )
        while self.snapshot:
            self.breach(
                self.rules.snapshots,
                f"the snapshot at change {self.snapshot.sequence:,} is after the "
                "last change",
            )
            self.pass_snapshot()
        if self.newest_snapshot != head.last_snapshot:
            self.breach(
                self.rules.snapshots,
                f"the newest snapshot is at change {self.newest_snapshot:,}, the "
                f"head has {head.last_snapshot:,}",
            )
        if self.at is not None and (head.last_at is None or head.last_at < self.at):
            self.breach(
                self.rules.times, "the head's time is earlier than the last change's"
            )
        if self.feed_book and self.feed_book.sequence > self.sequence:
            self.breach(
                self.rules.feed,
                f"it is at change {self.feed_book.sequence:,}, the log at "
                f"{self.sequence:,}",
            )

    def check_trades(self, head: OrderBookHead, covered: int) -> None:
        """`covered` is the last trade that pruning may have deleted."""
        [(count, first, last, astray, backwards, at)] = rows_of(TRADES, [self.token.pk])
        self.rules.trades.figure += count
        self.rules.times.figure += count
        if first is not None and first > covered + 1:
            self.breach(
                self.rules.trades, f"the first is {first:,} instead of {covered + 1:,}"
            )
        if astray is not None:
            self.breach(
                self.rules.trades, f"trade {astray:,} does not follow the one before"
            )
        if (last or covered) != head.last_trade:
            self.breach(
                self.rules.trades,
                f"the last one is {last or covered:,}, the head has "
                f"{head.last_trade:,}",
            )
        if backwards is not None:
            self.breach(
                self.rules.times, f"trade {backwards:,} is earlier than the one before"
            )
        if at is not None and (head.last_at is None or head.last_at < at):
            self.breach(
                self.rules.times, "the head's time is earlier than the last trade's"
            )

    def check_days(self) -> None:
        for day, is_right in compare_days(self.token.pk):
            self.rules.days.figure += 1
            if not is_right:
                self.breach(self.rules.days, f"those of {day} differ")

    def check_digests(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(DIGESTS, {"token": self.token.pk})
            for after, last, after_trade, last_trade, said, found in cursor:
                self.rules.digests.figure += (last - after) + (last_trade - after_trade)
                if said != found:
                    self.breach(
                        self.rules.digests,
                        f"some of the changes {after + 1:,} to {last:,} or trades "
                        f"{after_trade + 1:,} to {last_trade:,} differ",
                    )

    def check_levels(self) -> None:
        levels = BookLevel.objects.filter(token=self.token)
        found = {
            (side, price): quantity
            for side, price, quantity in levels.values_list(
                "side", "price_cents", "quantity"
            )
        }
        self.rules.levels.figure += len(found)
        if self.book is None:
            return
        ladder = self.book.ladder()
        right = {
            (side, price): quantity
            for side in (BID, ASK)
            for price, quantity in ladder[side]
        }
        for side, price in sorted(found.keys() | right.keys()):
            level = side, price
            if found.get(level) != right.get(level):
                self.breach(
                    self.rules.levels,
                    f"{Side(side).label.lower()} {price:,} has "
                    f"{found.get(level, 0):,} units; the log has "
                    f"{right.get(level, 0):,} at change {self.sequence:,}",
                )


def ladder_of(snapshot: BookSnapshot) -> Ladder:
    return Ladder(
        tuple(map(Level, snapshot.bid_prices, snapshot.bid_quantities)),
        tuple(map(Level, snapshot.ask_prices, snapshot.ask_quantities)),
    )


ONE_INSTANT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

TRADES = """
    SELECT count(*), min(sequence), max(sequence),
        min(sequence) FILTER (WHERE sequence <> before + 1),
        min(sequence) FILTER (WHERE at < before_at), max(at)
    FROM (
        SELECT sequence, at, lag(sequence) OVER by_sequence AS before,
            lag(at) OVER by_sequence AS before_at
        FROM marketdata_trade WHERE token_id = %s
        WINDOW by_sequence AS (ORDER BY sequence)
    ) t
"""

# Compares between neighbouring points with known sums: the beginning if the log is
# complete, the snapshots, and the head.
DIGESTS = """
    SELECT m.after, m.sequence, m.after_trade, m.trade, m.said, c.digests + d.digests
    FROM (
        SELECT sequence, trade, fingerprint - lag(fingerprint) OVER by_sequence AS said,
            lag(sequence) OVER by_sequence AS after,
            lag(trade) OVER by_sequence AS after_trade
        FROM (
            SELECT 0 AS kind, 0 AS sequence, 0 AS trade, 0 AS fingerprint
            FROM marketdata_orderbookhead h
            WHERE token_id = %(token)s AND NOT EXISTS (
                SELECT FROM marketdata_booksnapshot s
                WHERE s.token_id = h.token_id AND (
                    s.sequence > 0 AND NOT EXISTS (
                        SELECT FROM marketdata_bookchange
                        WHERE token_id = h.token_id AND sequence = 1
                    ) OR s.trade_sequence > 0 AND NOT EXISTS (
                        SELECT FROM marketdata_trade
                        WHERE token_id = h.token_id AND sequence = 1
                    )
                )
            )
            UNION ALL
            SELECT 1, sequence, trade_sequence, fingerprint
            FROM marketdata_booksnapshot WHERE token_id = %(token)s
            UNION ALL
            SELECT 2, last_sequence, last_trade, fingerprint
            FROM marketdata_orderbookhead WHERE token_id = %(token)s
        ) x
        WINDOW by_sequence AS (ORDER BY kind, sequence)
    ) m
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(marketdata_digest_change(
            sequence, side, price_cents, quantity, ends_message, at)), 0) AS digests
        FROM marketdata_bookchange WHERE token_id = %(token)s
            AND sequence > m.after AND sequence <= m.sequence
    ) c
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(marketdata_digest_trade(
            sequence, price_cents, quantity, at)), 0) AS digests
        FROM marketdata_trade WHERE token_id = %(token)s
            AND sequence > m.after_trade AND sequence <= m.trade
    ) d
    WHERE m.after IS NOT NULL
    ORDER BY m.sequence
"""

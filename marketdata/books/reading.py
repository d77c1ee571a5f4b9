"""Reads order books and their later changes from the logs, for many tokens at once.

Uses the calling thread's Django connection. Rows stay tuples.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

from django.db import transaction

from marketdata.books.days import read_last_days
from marketdata.books.livebook import EPOCH, BrokenLog, Facts, LiveBook, TradeRow
from marketdata.books.orderbook import ASK, BID, Change, CrossedBook, ImpossibleChange
from partnerapi.core.database import execute, fetch

PAGE_ROWS = 5_000
"""Of one token, read at once."""
SILENT_SECONDS = 5.0
"""A writer that has said that it lives counts as silent when it has neither said so nor
written for this long."""
RECENT_TRADES = 100
"""Read when a book is made."""

Broken = dict[LiveBook, ValueError]
"""Books that their logs do not continue, and why."""


def read_heads(token_ids: list[UUID] | None) -> list[tuple[Any, ...]]:
    """Each of these tokens that is on the secondary market, or is offered on the
    primary market; None: of all tokens.

    A row has the id, the arguments of LiveBook.describe, whether the writer is silent,
    and the last change and trade.
    """
    return fetch(HEADS, [token_ids, token_ids], tuple)


def make_books(token_ids: list[UUID]) -> tuple[dict[UUID, LiveBook], Broken]:
    """The books of tokens from their newest snapshots and the later changes."""
    made: dict[UUID, LiveBook] = {}
    broken: Broken = {}
    ends: dict[LiveBook, int] = {}
    # All statements see one state, so no pruning comes between them.
    with transaction.atomic():
        execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        for row in fetch(NEWEST, [token_ids], tuple):
            token_id, *facts, is_silent, last_sequence, last_trade, sequence, at = row[
                :-4
            ]
            book = made[token_id] = LiveBook(token_id, *facts)
            book.is_silent = is_silent
            ends[book] = last_sequence
            try:
                book.stand_at(sequence, at and instant(at), levels(*row[-4:]))
            except ValueError as error:
                # Columns of different lengths, or impossible levels.
                broken[book] = error
            book.last_trade = last_trade
        by_place = [book for book in ends if book not in broken]
        ids = [book.token_id for book in by_place]
        for place, *trade in fetch(RECENT_TRADES_OF, [ids], tuple):
            by_place[place - 1].trades.appendleft(as_trade(*trade))
        days = read_last_days(ids, 2)
        for book in by_place:
            book.count_anew(days.get(book.token_id, []))
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
    """Read the logs to their ends; add each book to the moved or the broken ones.

    One statement for all books, and more if a book has more than a page.
    """
    behind = list(books)
    while behind:
        ids = [book.token_id for book in behind]
        changes = [book.read for book in behind]
        trades = [book.last_trade for book in behind]
        found = fetch(FOLLOWING, [ids, changes, trades], tuple)
        more = []
        for (place, is_trade), page in groupby(found, itemgetter(0, 1)):
            book = behind[place - 1]
            rows = [row[2:] for row in page]
            try:
                if is_trade:
                    book.extend_trades(
                        [
                            as_trade(n, price, units, at)
                            for n, _, price, units, _, at in rows
                        ]
                    )
                    moved.add(book)
                elif book.extend(rows):
                    moved.add(book)
            except (BrokenLog, ImpossibleChange, CrossedBook) as error:
                broken[book] = error
            if len(rows) == PAGE_ROWS:
                more.append(book)
        behind = [book for book in dict.fromkeys(more) if book not in broken]


COLUMNS = {
    "symbol": "t.symbol",
    "isin": "t.isin",
    "name": "t.name",
    "issuer_id": "t.issuer_id::text",
    "is_public": "t.visibility = 'PUBLIC'",
    "issuer_name": "i.trading_name",
    "class_type": "t.class_type",
    "votes_per_share": "t.votes_per_share",
    "authorized_units": "t.authorized_units",
    "country": "i.country_id",
    "phase": "m.phase",
    "halt_reason": "m.halt_reason",
    "busts": """CASE WHEN m.token_id IS NOT NULL THEN (
        SELECT array_agg(ARRAY[b.sequence, d.price_cents] ORDER BY b.event)
        FROM trading_bust b JOIN marketdata_trade d
            ON d.token_id = b.token_id AND d.sequence = b.sequence
        WHERE b.token_id = m.token_id) END""",
    "tick_cents": "coalesce(m.tick_cents, 1)",
    "tick_table": """CASE WHEN m.tick_floors <> '{}' THEN (
        SELECT array_agg(ARRAY[t.floor, t.step] ORDER BY t.floor)
        FROM unnest(m.tick_floors, m.tick_steps) AS t (floor, step)) END""",
    "lot_units": "coalesce(m.lot_units, 1)",
    "reference_price": "m.reference_price",
    "collar_bps": "m.collar_bps",
    "indication": """CASE WHEN m.phase = 'CALL' THEN (
        SELECT ARRAY[a.indicative_price, a.indicative_quantity
            + greatest(a.indicative_surplus, 0), a.indicative_quantity
            - least(a.indicative_surplus, 0)]
        FROM trading_auction a WHERE a.token_id = m.token_id
            AND a.began = m.last_phase_event AND a.indicative_price IS NOT NULL) END""",
    "is_primary": "t.market_type = 'PRIMARY_MARKET'",
}
"""Where each of the Facts is read; a fact without a row fails the import."""
TOKEN = ", ".join(COLUMNS[fact] for fact in Facts._fields)
MARKET = "LEFT JOIN trading_market m ON m.token_id = t.id"
# Loading a timestamptz takes longer than loading all other columns of a row.
MICROSECONDS = "(extract(epoch FROM {}.at) * 1000000)::bigint"

SILENT = f"""coalesce(h.source = 'EXTERNAL' AND h.heard_at IS NOT NULL
    AND greatest(h.heard_at, h.last_at)
        < clock_timestamp() - interval '{SILENT_SECONDS} s', FALSE)"""
# A token that is sold on the primary market has no head yet.
HEAD = f"""
    {SILENT}, coalesce(h.last_sequence, 0), coalesce(h.last_trade, 0)"""

HEADS = f"""
    SELECT t.id, {TOKEN}, {HEAD}
    FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = t.id
    {MARKET}
    WHERE t.id IN (SELECT token_id FROM marketdata_orderbookhead UNION ALL
        SELECT token_id FROM issuers_offering
        WHERE status IN ('OPEN', 'CLOSED', 'ALLOTTED', 'SETTLED'))
      AND (t.market_type = 'SECONDARY_MARKET') = (h.token_id IS NOT NULL)
      AND (%s::uuid[] IS NULL OR t.id = ANY (%s::uuid[]))
"""
NEWEST = f"""
    SELECT t.id, {TOKEN}, {HEAD},
        coalesce(s.sequence, 0), {MICROSECONDS.format("s")},
        coalesce(s.bid_prices, '{{}}'), coalesce(s.bid_quantities, '{{}}'),
        coalesce(s.ask_prices, '{{}}'), coalesce(s.ask_quantities, '{{}}')
    FROM issuers_token t JOIN issuers_issuer i ON i.id = t.issuer_id
    LEFT JOIN marketdata_orderbookhead h ON h.token_id = t.id
    {MARKET}
    LEFT JOIN LATERAL (
        SELECT * FROM marketdata_booksnapshot s WHERE s.token_id = t.id
        ORDER BY s.sequence DESC LIMIT 1
    ) s ON TRUE
    WHERE t.id = ANY (%s::uuid[])
"""
# Changes from the last row read, inclusive. Otherwise a log that was restored and then
# took another course would seem to continue any book.
FOLLOWING = f"""
    SELECT w.place, l.is_trade, l.sequence, l.side, l.price_cents, l.quantity,
        l.ends_message, {MICROSECONDS.format("l")}
    FROM unnest(%s::uuid[], %s::bigint[], %s::bigint[])
        WITH ORDINALITY w (token_id, read, last_trade, place)
    CROSS JOIN LATERAL (
        (SELECT FALSE AS is_trade, sequence, side, price_cents, quantity,
            ends_message, at
        FROM marketdata_bookchange c
        WHERE c.token_id = w.token_id AND c.sequence >= w.read
        ORDER BY c.sequence LIMIT {PAGE_ROWS})
        UNION ALL
        (SELECT TRUE, sequence, NULL, price_cents, quantity, NULL, at
        FROM marketdata_trade d
        WHERE d.token_id = w.token_id AND d.sequence > w.last_trade
        ORDER BY d.sequence LIMIT {PAGE_ROWS})
    ) l
    ORDER BY w.place, l.is_trade, l.sequence
"""
RECENT_TRADES_OF = f"""
    SELECT w.place, d.sequence, d.price_cents, d.quantity, {MICROSECONDS.format("d")}
    FROM unnest(%s::uuid[]) WITH ORDINALITY w (token_id, place)
    CROSS JOIN LATERAL (
        SELECT * FROM marketdata_trade d WHERE d.token_id = w.token_id
        ORDER BY d.sequence DESC LIMIT {RECENT_TRADES}
    ) d
    ORDER BY w.place, d.sequence DESC
"""

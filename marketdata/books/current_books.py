"""Order books as they stand now, for any number of tokens at once.

A book is read from its head and the levels beside it: one statement, so one state of
each, and never one between two messages.
"""

from collections.abc import Collection
from typing import NamedTuple

from marketdata.books.orderbook import Level
from partnerapi.core.database import array_text, fetch

# Ids and times are given as text: Python's values would cost more than the rows.
STATEMENT = """
SELECT head.token_id::text, head.last_sequence, head.last_at::text,
    bid.prices, bid.quantities, ask.prices, ask.quantities
FROM marketdata_orderbookhead AS head
LEFT JOIN LATERAL (
    SELECT array_agg(price_cents ORDER BY price_cents DESC) AS prices,
        array_agg(quantity ORDER BY price_cents DESC) AS quantities
    FROM (
        SELECT price_cents, quantity FROM marketdata_booklevel
        WHERE token_id = head.token_id AND side = 0
        ORDER BY price_cents DESC LIMIT %s
    ) AS level
) AS bid ON TRUE
LEFT JOIN LATERAL (
    SELECT array_agg(price_cents ORDER BY price_cents) AS prices,
        array_agg(quantity ORDER BY price_cents) AS quantities
    FROM (
        SELECT price_cents, quantity FROM marketdata_booklevel
        WHERE token_id = head.token_id AND side = 1
        ORDER BY price_cents LIMIT %s
    ) AS level
) AS ask ON TRUE
WHERE head.token_id = ANY(%s::uuid[])
"""


class CurrentBook(NamedTuple):
    """A book's best levels, best first, after the change numbered `sequence`.

    `at` is the time of its last message as PostgreSQL writes it in UTC; None: there
    has not been one. Prices are euro cents, quantities units.
    """

    sequence: int
    at: str | None
    bids: list[Level]
    asks: list[Level]


def read_books(
    token_ids: Collection[str], depth: int | None = None
) -> dict[str, CurrentBook]:
    """The books of these tokens by token id; a token that has none is left out.

    `depth` is the most levels of each side; None: all of them.
    """
    if not token_ids:
        return {}
    return {
        token_id: CurrentBook(
            sequence,
            at,
            list(map(Level, bid_prices or (), bid_quantities or ())),
            list(map(Level, ask_prices or (), ask_quantities or ())),
        )
        for (
            token_id,
            sequence,
            at,
            bid_prices,
            bid_quantities,
            ask_prices,
            ask_quantities,
        ) in fetch(STATEMENT, [depth, depth, array_text(token_ids)], tuple)
    }

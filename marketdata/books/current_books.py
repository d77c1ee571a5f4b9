"""Order books as they stand now, for any number of tokens at once.

One statement reads each head with its levels. So it sees one state of each book, and
never a state between two messages.
"""

from collections.abc import Collection
from typing import NamedTuple

from marketdata.books.orderbook import Level
from partnerapi.core.database import array_text, fetch

# Ids and times are text. Converting them to Python's values would cost more than
# reading the rows.
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

    `at` is the time of its last message as PostgreSQL writes it in UTC. None: the book
    has had no message. Prices are euro cents, quantities units.
    """

    sequence: int
    at: str | None
    bids: list[Level]
    asks: list[Level]


def read_books(
    token_ids: Collection[str], depth: int | None = None
) -> dict[str, CurrentBook]:
    """The books of these tokens by token id. Tokens without a book are left out.

    `depth` is the maximum number of levels on each side. None: all of them.
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

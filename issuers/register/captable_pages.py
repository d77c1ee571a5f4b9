"""Holders of capitalization tables in the order of their users, page by page.

A page costs as much as its rows, however many holders there are and whenever it was:
the periods of holding are indexed by user. It knows the instant by the tables' tokens,
each as of an entry.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from issuers.register.captable import CapitalizationTable
from issuers.register.captable_columns import Holder, TokenBalance
from partnerapi.core.database import fetch

FIRST_USER = "00000000-0000-0000-0000-000000000000"
FEW = 10_000
"""Entries after which the present holders still are nearly those of before."""
LAST_USER = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True)
class Stretch:
    """A range of users between two ids, which belong to it only if `inclusive`."""

    after: str = FIRST_USER
    before: str = LAST_USER
    inclusive: bool = False
    backward: bool = False
    limit: int = 1


def holders_within(
    tables: Sequence[CapitalizationTable], stretch: Stretch
) -> list[list[Holder]]:
    """The first `limit` holders of each table in the stretch; one statement."""
    pages: list[list[Holder]] = [[] for _ in tables]
    noted = noted_columns(tables)
    if not noted[0] or not stretch.limit:
        return pages
    order = direction(stretch)
    statement = PAGES.format(users=users_of(stretch), direction=order)
    found = fetch(statement, [*noted, *bounds(stretch)], tuple)
    for (place, user_id), rows in groupby(found, itemgetter(0, 1)):
        table = tables[place]
        held = [(table.tokens[number], int(units)) for *_, number, units in rows]
        pages[place].append(holder_of(table, user_id, held))
    return pages


def any_within(tables: Sequence[CapitalizationTable], stretch: Stretch) -> list[bool]:
    """Whether each table has holders in the stretch; one statement."""
    noted = noted_columns(tables)
    if not noted[0]:
        return [False for _ in tables]
    statement = ANY.format(users=users_of(stretch))
    found = fetch(statement, [*noted, *bounds(stretch)], tuple)
    places = {place for (place,) in found}
    return [place in places for place in range(len(tables))]


def holder_counts(tables: Sequence[CapitalizationTable]) -> list[int]:
    """The number of holders of each table; at most one statement.

    The ledger has the number for one token. Holders of several tokens count once.
    """
    counts = [max([t.holder_count for t in table.tokens] or [0]) for table in tables]
    several = [place for place, table in enumerate(tables) if to_be_counted(table)]
    if several:
        noted = noted_columns([tables[place] for place in several])
        for place, count in fetch(COUNTS, noted, tuple):
            counts[several[place]] = count
    return counts


def to_be_counted(table: CapitalizationTable) -> int:
    """How many holders of single tokens `holder_counts` has to read."""
    held = [token.holder_count for token in table.tokens if token.holder_count]
    return sum(held) if len(held) > 1 else 0


def noted_columns(tables: Sequence[CapitalizationTable]) -> list[list[Any]]:
    """Of the tokens that someone holds: table, place in it, token, entry, newness."""
    rows = [
        (place, number, token.token_id, token.seq, token.last_seq - token.seq <= FEW)
        for place, table in enumerate(tables)
        for number, token in enumerate(table.tokens)
        if token.holder_count
    ]
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], [], [], []]


def holder_of(
    table: CapitalizationTable, user_id: str, held: Sequence[tuple[Any, int]]
) -> Holder:
    balances = [
        TokenBalance(token.token_id, units, token.price, units * token.price)
        for token, units in held
    ]
    value = sum(balance.value for balance in balances)
    # As long as no token has a price, the share is one of the units.
    part, whole = value, table.total_value
    if not whole:
        part = sum(units for _, units in held)
        whole = sum(token.held for token in table.tokens)
    return Holder(user_id, value, part / whole, balances, table.date)


def direction(stretch: Stretch) -> str:
    return "DESC" if stretch.backward else "ASC"


def users_of(stretch: Stretch) -> str:
    or_equal = "=" if stretch.inclusive else ""
    return USERS.format(direction=direction(stretch), or_equal=or_equal)


def bounds(stretch: Stretch) -> list[Any]:
    between = [stretch.after, stretch.before]
    return [*between, stretch.limit, *between, stretch.limit, stretch.limit]


# The classes are those of HoldingPeriod.
NOTED = """
    SELECT n.*, floor(8 * ln(n.seq::float8) / ln(2::float8))::int2 AS last_since,
        floor(32 * ln((n.seq + 1)::float8) / ln(2::float8))::int2 AS first_until
    FROM unnest(%s::int[], %s::int[], %s::uuid[], %s::bigint[], %s::boolean[])
        AS n (place, number, token_id, seq, is_new)
"""
# The pairs of classes that periods have, found one by one in the index: those that
# begin early enough, and of them those that end late enough. Periods without end have
# the last class.
CELLS = """
    SELECT n.*, c.since_class, c.until_class
    FROM noted n CROSS JOIN LATERAL (
        SELECT h.since_class, h.until_class FROM issuers_holdingperiod h
        WHERE h.token_id = n.token_id AND h.since_class <= n.last_since
        ORDER BY h.since_class, h.until_class LIMIT 1
    ) AS c
    UNION ALL
    SELECT c.place, c.number, c.token_id, c.seq, c.is_new, c.last_since, c.first_until,
        next.since_class, next.until_class
    FROM cells c CROSS JOIN LATERAL (
        SELECT h.since_class, h.until_class FROM issuers_holdingperiod h
        WHERE h.token_id = c.token_id AND h.since_class <= c.last_since
            AND (h.since_class, h.until_class)
                > (c.since_class, greatest(c.until_class, c.first_until - 1::int2))
        ORDER BY h.since_class, h.until_class LIMIT 1
    ) AS next
"""
# Where little was entered since, nearly all periods without end are of holders.
USERS = """
    SELECT DISTINCT u.user_id
    FROM (
        SELECT e.user_id FROM noted n CROSS JOIN LATERAL (
            SELECT h.user_id FROM issuers_holdingperiod h
            WHERE h.token_id = n.token_id AND h.until IS NULL AND h.since <= n.seq
                AND h.user_id >{or_equal} %s::uuid AND h.user_id <{or_equal} %s::uuid
            ORDER BY h.user_id {direction} LIMIT %s
        ) AS e
        WHERE n.place = p.place AND n.is_new
        UNION ALL
        SELECT e.user_id FROM cells c CROSS JOIN LATERAL (
            SELECT h.user_id FROM issuers_holdingperiod h
            WHERE h.token_id = c.token_id
                AND h.since_class = c.since_class AND h.until_class = c.until_class
                AND (h.until IS NULL OR h.until > c.seq) AND h.since <= c.seq
                AND h.user_id >{or_equal} %s::uuid AND h.user_id <{or_equal} %s::uuid
            ORDER BY h.user_id {direction} LIMIT %s
        ) AS e
        WHERE c.place = p.place AND c.until_class >= c.first_until
            AND NOT (c.is_new AND c.until_class = 32767)
    ) AS u
    ORDER BY u.user_id {direction} LIMIT %s
"""
PLACES = f"""
    WITH RECURSIVE noted AS MATERIALIZED ({NOTED}),
    cells AS ({CELLS}),
    p AS (SELECT DISTINCT place FROM noted)
"""
PAGES = (
    PLACES
    + """
    SELECT p.place, page.user_id::text, n.number, b.balance_after::text
    FROM p CROSS JOIN LATERAL ({users}) AS page
    JOIN noted n ON n.place = p.place
    JOIN issuers_ledgeraccount a ON a.user_id = page.user_id
    CROSS JOIN LATERAL (
        SELECT x.balance_after FROM issuers_ledgerposting x
        WHERE x.token_id = n.token_id AND x.account_id = a.id AND x.seq <= n.seq
        ORDER BY x.seq DESC LIMIT 1
    ) AS b
    WHERE b.balance_after > 0
    ORDER BY p.place, page.user_id {direction}, n.number
"""
)
ANY = PLACES + "SELECT p.place FROM p WHERE EXISTS ({users})"
COUNTS = (
    PLACES
    + """
    SELECT c.place, count(DISTINCT h.user_id)
    FROM cells c JOIN issuers_holdingperiod h ON h.token_id = c.token_id
        AND h.since_class = c.since_class AND h.until_class = c.until_class
    WHERE c.until_class >= c.first_until
        AND h.since <= c.seq AND (h.until IS NULL OR h.until > c.seq)
    GROUP BY c.place
"""
)

"""An issuer's capitalization table at an instant, holder by holder, of any length.

The instant is fixed as for partners (`issuers.register.captable`). The holders are then
read as of the entries that it names, with a server-side cursor.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from issuers.exports.tables import Column
from issuers.models import Issuer, Token
from issuers.register.captable import tokens_as_of
from issuers.register.captable_columns import TokenSummary
from issuers.register.captable_reading import (
    ACCOUNTS,
    BRANCH,
    IN_MEMORY,
    WAYS,
    cheapest_way,
)
from issuers.register.names import name_at
from partnerapi.core.database import execute

FETCHED = 2_000

COLUMNS = (
    Column("holder_id", 36),
    Column("holder", 30),
    Column("type", 10),
    Column("country", 7),
    Column("lei", 20),
    Column("email", 30),
    Column("wallet", 42),
    Column("token", 12),
    Column("units", 20, is_number=True),
    Column("price_cents", 12, is_number=True),
    Column("value_cents", 20, is_number=True),
    Column("percentage", 22, is_number=True),
)
"""`percentage` is the holding's share of the table's value; without any value, of the
units. The percentages of a holder's lines add up to the holder's."""


class Holding(NamedTuple):
    """Units of a token with a holder; `place` is the token's in the table."""

    place: int
    units: int
    user_id: str
    name: str
    type: str
    country: str | None
    lei: str | None
    email: str | None
    wallet: str | None
    first_name: str
    last_name: str


@dataclass(frozen=True, slots=True)
class DatedTable:
    """Tokens by creation, as they stood at `date`, an instant as text in UTC."""

    issuer: Issuer
    date: str
    at: datetime
    tokens: list[TokenSummary]
    symbols: list[str]

    @property
    def holding_count(self) -> int:
        return sum(token.holder_count for token in self.tokens)

    @property
    def total_value(self) -> int:
        return sum(token.held_value for token in self.tokens)

    @property
    def total_units(self) -> int:
        return sum(token.held for token in self.tokens)


def dated_table(issuer: Issuer, at: datetime | None) -> DatedTable:
    """The table's totals; None, or a future instant, means now.

    Raises:
        RequestTimeout: a writer locks one of the ledgers for too long.
    """
    date, [tokens] = tokens_as_of([str(issuer.pk)], at)
    symbols = dict(Token.objects.filter(issuer=issuer).values_list("pk", "symbol"))
    by_id = {str(pk): symbol for pk, symbol in symbols.items()}
    return DatedTable(
        issuer, date, datetime.fromisoformat(date), tokens,
        [by_id[token.token_id] for token in tokens],
    )  # fmt: skip


@contextmanager
def holdings(table: DatedTable) -> Iterator[Iterator[Holding]]:
    """Holdings, by the total value of the holder, then by user, then by token."""
    held = [
        (place, token) for place, token in enumerate(table.tokens) if token.holder_count
    ]
    if not held:
        yield iter(())
        return
    ways = [cheapest_way(token) for _, token in held]
    branches = [BRANCH.format(way=way, balances=WAYS[way]) for way in sorted(set(ways))]
    balances = "UNION ALL".join(branches).format(accounts=ACCOUNTS[True])
    statement = HOLDINGS.format(
        balances=balances, weight=WEIGHTS[table.total_value > 0]
    )
    arguments: list[Any] = [
        [place for place, _ in held],
        [token.token_id for _, token in held],
        [token.seq for _, token in held],
        [token.price for _, token in held],
        [*map(str, ways)],
        table.date,
    ]
    with transaction.atomic():
        execute(IN_MEMORY)
        with connection.chunked_cursor() as cursor:
            cursor.execute(statement, arguments)
            yield read(cursor)


def read(cursor: Any) -> Iterator[Holding]:
    while rows := cursor.fetchmany(FETCHED):
        for place, units, *others in rows:
            yield Holding(place, int(units), *others)


def lines(table: DatedTable, held: Iterator[Holding]) -> Iterator[tuple[Any, ...]]:
    """The values of COLUMNS, for each holding."""
    whole = table.total_value
    by_value = bool(whole)
    whole = whole or table.total_units
    for h in held:
        price = table.tokens[h.place].price
        value = h.units * price
        yield (
            h.user_id, h.name, h.type, h.country, h.lei, h.email, h.wallet,
            table.symbols[h.place], h.units, price, value,
            (value if by_value else h.units) / whole,
        )  # fmt: skip


WEIGHTS = {True: "balance * price", False: "balance"}
HOLDINGS = f"""
    WITH all_noted AS (
        SELECT * FROM unnest(%s::int[], %s::uuid[], %s::bigint[], %s::bigint[],
            %s::text[]) AS n (place, token_id, seq, price, way)
    ), balances AS ({{balances}})
    SELECT b.place, b.balance, u.id::text,
        {name_at("h", "%s::timestamptz")}, u.type, u.country_id, u.lei, u.email,
        h.wallet_address, u.first_name, u.last_name
    FROM (
        SELECT place, balance, user_id,
            sum({{weight}}) OVER (PARTITION BY user_id) AS weight
        FROM balances WHERE balance > 0 AND user_id IS NOT NULL
    ) b
    JOIN accounts_user u ON u.id = b.user_id
    JOIN accounts_userholder h ON h.user_id = b.user_id
    ORDER BY b.weight DESC, b.user_id, b.place
"""

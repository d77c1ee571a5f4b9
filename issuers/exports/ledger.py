"""All entries of a token's ledger, in their order."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction

from issuers.exports.tables import Column
from issuers.models import Token
from issuers.register.names import name_at

FETCHED = 2_000

COLUMNS = (
    Column("seq", 8, is_number=True),
    Column("kind", 15),
    Column("amount", 20, is_number=True),
    Column("from", 36),
    Column("from_name", 30),
    Column("to", 36),
    Column("to_name", 30),
    Column("effective_at", 27),
    Column("recorded_at", 27),
    Column("supply_after", 20, is_number=True),
    Column("held_after", 20, is_number=True),
    Column("holders_after", 13, is_number=True),
    Column("actor", 25),
    Column("reason", 30),
    Column("chain_reference", 20),
    Column("legacy_shareholder", 36),
    Column("reverses", 8, is_number=True),
)

PRICE_COLUMNS = (
    Column("number", 8, is_number=True),
    Column("price_cents", 20, is_number=True),
    Column("source", 6),
    Column("effective_at", 27),
    Column("recorded_at", 27),
    Column("recorded_by", 25),
)


class LedgerLine(NamedTuple):
    """An entry; `source` and `target` are users' ids, "treasury", or None.

    Names are as of the entry's time.
    """

    seq: int
    kind: str
    amount: int
    source: str | None
    source_name: str | None
    target: str | None
    target_name: str | None
    effective_at: datetime
    recorded_at: datetime
    supply_after: int
    held_after: int
    holders_after: int
    actor: str
    reason: str
    chain_reference: str | None
    legacy_shareholder: str | None
    reverses: int | None


@contextmanager
def entries(token: Token, user_id: Any = None) -> Iterator[Iterator[LedgerLine]]:
    """The entries of a token in order; with a user, only that user's."""
    statement = ENTRIES.format(condition=OF_USER if user_id else "")
    arguments = [token.pk, user_id, user_id] if user_id else [token.pk]
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(statement, arguments)
        yield read(cursor)


@contextmanager
def prices(token: Token) -> Iterator[Iterator[tuple[Any, ...]]]:
    """The values of PRICE_COLUMNS for each price of a token, in order."""
    with transaction.atomic():
        columns = [column.name for column in PRICE_COLUMNS]
        found = token.prices.order_by("number").values_list(*columns)
        yield found.iterator(FETCHED)


def read(cursor: Any) -> Iterator[LedgerLine]:
    while rows := cursor.fetchmany(FETCHED):
        for row in rows:
            line = LedgerLine(*row)
            yield line._replace(
                amount=int(line.amount),
                supply_after=int(line.supply_after),
                held_after=int(line.held_after),
            )


PLACE = """
    CASE WHEN t.{side}_id IS NULL THEN NULL
        WHEN {side}.user_id IS NULL THEN 'treasury' ELSE {side}.user_id::text END,
    CASE WHEN {side}_holder.id IS NOT NULL THEN {name}
        WHEN t.{side}_id IS NOT NULL THEN 'treasury' END
"""


def place(side: str) -> str:
    return PLACE.format(side=side, name=name_at(f"{side}_holder", "t.effective_at"))


ENTRIES = f"""
    SELECT t.seq, t.kind, t.amount, {place("source")},
        {place("target")}, t.effective_at, t.recorded_at, t.supply_after,
        t.held_after, t.holders_after, t.actor, t.reason, t.chain_reference,
        t.legacy_shareholder_id::text, t.reverses
    FROM issuers_ledgertransaction t
    LEFT JOIN issuers_ledgeraccount source ON source.id = t.source_id
    LEFT JOIN accounts_userholder source_holder ON source_holder.id = source.holder_id
    LEFT JOIN issuers_ledgeraccount target ON target.id = t.target_id
    LEFT JOIN accounts_userholder target_holder ON target_holder.id = target.holder_id
    WHERE t.token_id = %s {{condition}}
    ORDER BY t.seq
"""
OF_USER = "AND (source.user_id = %s OR target.user_id = %s)"

"""Capitalization tables of many issuers at one instant, in two statements.

The first fixes the instant. It waits for writers that may still write at or before it,
without a lock that the database would log, and finds, for each token, the last entry of
its ledger and the price of a unit. The second reads everything as of that entry, by
number, and numbered rows never change. So all tables are consistent, and the same
instant always gives the same table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import psycopg
from django.conf import settings
from django.db import OperationalError

from issuers.register.captable_columns import Holders, TokenSummary
from issuers.register.captable_reading import read_holders
from partnerapi.core.database import fetch
from partnerapi.core.errors import PartnerAPIError, RequestTimeout
from partnerapi.core.numbers import MAX_UINT64
from partnerapi.core.postgresql.timing import leave
from partnerapi.core.standby import SETTLED_AT, settled_arguments, standby


class CapitalizationTableTooLarge(PartnerAPIError):
    """The list would have more holders or balances than `maximum`, or a value above
    2⁶⁴−1.
    """

    code = "CAPITALIZATION_TABLE_TOO_LARGE"
    example = "`holders` of an issuer that has 50,001"
    remedy = "Omit `holders`: the totals have no such limit."


Listed = Holders | CapitalizationTableTooLarge
"""A table's holders, or the error where they are too many."""


@dataclass(frozen=True)
class CapitalizationTable:
    """An issuer's table at `date`, an instant as PostgreSQL's text in UTC.

    `is_present`: no instant was requested, or a future one. `holders` is None if they
    were not read.
    """

    issuer_id: str
    date: str
    is_present: bool = field(compare=False)
    tokens: list[TokenSummary]
    holders: Listed | None = None

    @cached_property
    def total_value(self) -> int:
        """The value of all holdings, euro cents; may be above 2⁶⁴−1."""
        return sum(token.held_value for token in self.tokens)


def capitalization_tables(
    issuer_ids: Sequence[str], at: datetime | None, with_holders: bool
) -> list[CapitalizationTable]:
    """One table for each issuer, in order, all at the same instant.

    `at` None means now, and so does an instant in the future.

    Raises:
        RequestTimeout: a writer holds one of the ledgers for too long.
    """
    return standby.read(at, lambda: read_tables(issuer_ids, at, with_holders))


def read_tables(
    issuer_ids: Sequence[str], at: datetime | None, with_holders: bool
) -> list[CapitalizationTable]:
    date, summaries = tokens_as_of(issuer_ids, at)
    is_present = at is None or at > datetime.fromisoformat(date)
    tables = [
        CapitalizationTable(issuer_id, date, is_present, tokens)
        for issuer_id, tokens in zip(issuer_ids, summaries, strict=True)
    ]
    if not with_holders:
        return tables
    return [
        replace(table, holders=held)
        for table, held in zip(tables, holders_of(tables), strict=True)
    ]


def read_all_holders(tables: Sequence[CapitalizationTable]) -> list[Listed]:
    """The holders of tables that are all at one instant; in one statement.

    A table with too many holders gets the error in their place.
    """
    first = tables[0]
    at = None if first.is_present else datetime.fromisoformat(first.date)
    return standby.read(at, lambda: holders_of(tables))


def holders_of(tables: Sequence[CapitalizationTable]) -> list[Listed]:
    holders: list[Listed] = [Holders([], []) for _ in tables]
    places = []
    for place, table in enumerate(tables):
        count = listed_at_most(table)
        if count > settings.PARTNER_API_MAX_HOLDERS:
            holders[place] = too_many(count)
        elif count:
            places.append(place)
    for place, found in read_holders(places, [table.tokens for table in tables]):
        holders[place] = replace(found, date=tables[place].date)
    return holders


def listed_at_most(table: CapitalizationTable) -> int:
    """The sum of the holders of each token; a user may be counted several times."""
    return sum(token.holder_count for token in table.tokens)


def tokens_as_of(
    issuer_ids: Sequence[str], at: datetime | None
) -> tuple[str, list[list[TokenSummary]]]:
    """The instant, and each issuer's tokens as of it, in the order of creation."""
    try:
        arguments = [issuer_ids, at, at, *settled_arguments(), issuer_ids]
        rows = fetch(AS_OF, arguments, tuple)
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise RequestTimeout(
                "The register is busy with another change; retry the request."
            ) from error
        raise
    if (waited := rows[0][1]) > WAITED_SECONDS:
        leave(waited)
    summaries: list[list[TokenSummary]] = [[] for _ in issuer_ids]
    for _, _, place, token_id, price, held, supply, *counts in rows:
        if token_id is not None:
            summaries[place - 1].append(
                TokenSummary(token_id, price, int(held), int(supply), *counts)
            )
    return rows[0][0], summaries


def too_many(count: int) -> CapitalizationTableTooLarge:
    maximum = settings.PARTNER_API_MAX_HOLDERS
    return CapitalizationTableTooLarge(
        f"The table lists {count} holders; the limit is {maximum}. Omit `holders` to "
        "get the totals.",
        maximum=maximum,
    )


def too_much(name: str) -> CapitalizationTableTooLarge:
    return CapitalizationTableTooLarge(
        f"`{name}` is above 2⁶⁴−1 cents; sum the values of `tokens` instead.",
        maximum=MAX_UINT64,
    )


WAITED_SECONDS = 0.002
"""A reader that waits for writers waits at least this long."""
# The time until the instant is known is that of a wait for writers, if there was one.
AS_OF = f"""
    SELECT noted_at::text,
        extract(epoch FROM known.at - statement_timestamp())::float8, issuer_place,
        noted_token::text, noted_price, noted_held::text, noted_supply::text,
        noted_holders, noted_seq, noted_last_seq, noted_last_holders
    FROM register_instant(%s::uuid[], %s::timestamptz,
        CASE WHEN %s::timestamptz IS NOT NULL
            OR current_setting('transaction_read_only')::boolean
        THEN {SETTLED_AT} END) AS found,
        LATERAL (SELECT found AS instant, clock_timestamp() AS at OFFSET 0) AS known,
        register_note(%s::uuid[], known.instant, known.instant)
"""

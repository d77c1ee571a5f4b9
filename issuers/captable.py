"""Capitalization tables of many issuers at one instant, in two statements.

The first fixes the instant: it waits for writers in flight and notes, for each token,
where its ledger stood and what a unit cost. Everything else is read as of the noted
entry, by number, and what has a number never changes: so there is no torn table, and
the same instant gives the same table for ever.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import groupby, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import psycopg
from django.conf import settings
from django.db import OperationalError, transaction

from partnerapi.engine.errors import PartnerAPIError, RequestTimeout
from partnerapi.engine.pages import fetch
from partnerapi.engine.scalars import MAX_UINT64

MANY = 200_000
"""Of more holders, accounts are read all at once and not each."""
SCAN_RATIO = 32
"""One account's balance in the past costs about as much as this many postings in a
scan of all of them."""


class CapitalizationTableTooLarge(PartnerAPIError):
    """More holders than one table may list (`maximum`), or a value above 2⁶⁴−1."""

    code = "CAPITALIZATION_TABLE_TOO_LARGE"


class TokenBalance(NamedTuple):
    """Units of a token that somebody holds; price and value in euro cents."""

    token_id: str
    balance: int
    price: int
    value: int


class Holder(NamedTuple):
    """A user's holdings of an issuer's tokens; value in euro cents."""

    user_id: str
    user_holder_id: str
    total_value: int
    percentage: float
    token_balances: Sequence[TokenBalance]


@dataclass(frozen=True, slots=True)
class TokenSummary:
    """A token as it stood: units held by holders, all units, and the noted entry.

    `seq` is the entry, `last_seq` the ledger's last one when it was noted.
    """

    token_id: str
    price: int
    held: int
    supply: int
    holder_count: int
    seq: int
    last_seq: int = field(compare=False)

    @property
    def held_value(self) -> int:
        return self.held * self.price

    @property
    def supply_value(self) -> int:
        return self.supply * self.price


@dataclass(frozen=True)
class CapitalizationTable:
    """An issuer's table at `date`, an instant as PostgreSQL's text in UTC.

    `holders` is None unless it was asked for; where they are too many, it is the
    error that says so.
    """

    date: str
    tokens: list[TokenSummary]
    holders: list[Holder] | CapitalizationTableTooLarge | None = None

    @cached_property
    def total_value(self) -> int:
        """What the holders hold, euro cents; may be above 2⁶⁴−1."""
        return sum(token.held_value for token in self.tokens)


def capitalization_tables(
    issuer_ids: Sequence[str], at: datetime | None, with_holders: bool
) -> list[CapitalizationTable]:
    """One table for each issuer, in order, all at the same instant.

    `at` None means now; an instant to come is answered as now.

    Raises:
        RequestTimeout: a writer holds one of the ledgers for too long.
    """
    date, summaries = note(issuer_ids, at)
    if not with_holders:
        return [CapitalizationTable(date, tokens) for tokens in summaries]
    holders: list[Any] = [[] for _ in issuer_ids]
    places = []
    for place, tokens in enumerate(summaries):
        count = sum(token.holder_count for token in tokens)
        if count > settings.PARTNER_API_MAX_HOLDERS:
            holders[place] = too_many(count)
        elif count:
            places.append(place)
    for place, found in read_holders(places, summaries):
        holders[place] = found
    return [
        CapitalizationTable(date, tokens, held)
        for tokens, held in zip(summaries, holders, strict=True)
    ]


def note(
    issuer_ids: Sequence[str], at: datetime | None
) -> tuple[str, list[list[TokenSummary]]]:
    """The instant, and each issuer's tokens as they stood then, by creation."""
    try:
        rows = fetch(NOTE, [issuer_ids, at], tuple)
    except OperationalError as error:
        if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
            raise RequestTimeout(
                "The register is being written to and did not come free; ask again."
            ) from error
        raise
    summaries: list[list[TokenSummary]] = [[] for _ in issuer_ids]
    for _, place, token_id, price, held, supply, holders, seq, last_seq in rows:
        if token_id is not None:
            summaries[place - 1].append(
                TokenSummary(
                    token_id, price, int(held), int(supply), holders, seq, last_seq
                )
            )
    return rows[0][0], summaries


def read_holders(
    places: Sequence[int], summaries: Sequence[Sequence[TokenSummary]]
) -> Iterator[tuple[int, list[Holder]]]:
    """For each place its holders, by value descending, then by user's id."""
    noted = [
        (place, n, token)
        for place in places
        for n, token in enumerate(summaries[place])
        if token.holder_count
    ]
    if not noted:
        return
    tokens = [token for *_, token in noted]
    several = len(noted) > len(places)
    many = sum(token.holder_count for token in tokens) > MANY
    statement = HOLDERS.format(value=VALUES[several], accounts=ACCOUNTS[many])
    arguments = [
        SCAN_RATIO,
        [place for place, *_ in noted],
        [n for _, n, _ in noted],
        [token.token_id for token in tokens],
        [token.seq for token in tokens],
        [token.holder_count for token in tokens],
        [token.price for token in tokens],
    ]
    if many:
        with transaction.atomic():
            # Joined and sorted in memory: on the disk it would take twice as long.
            fetch("SELECT set_config('work_mem', '256MB', TRUE)", [], tuple)
            rows = fetch(statement, arguments, tuple)
    else:
        rows = fetch(statement, arguments, tuple)
    if len(places) == 1:
        yield places[0], listed(rows, summaries[places[0]])
        return
    for place, group in groupby(rows, itemgetter(0)):
        yield place, listed(list(group), summaries[place])


def listed(
    rows: Sequence[tuple[Any, ...]], tokens: Sequence[TokenSummary]
) -> list[Holder]:
    """Holders of rows that come holder by holder, each holder's by the token's place.

    Percentages are shares of the value; without any value, of the units.
    """
    users: Sequence[str]
    profiles: Sequence[str]
    _, numbers, users, profiles, texts = zip(*rows, strict=True)
    units = list(map(int, texts))
    prices = [token.price for token in tokens]
    ids = [token.token_id for token in tokens]
    if len(set(numbers)) == 1:
        price, token_id = prices[numbers[0]], ids[numbers[0]]
        values = units if price == 1 else [balance * price for balance in units]
        holdings: Any = zip(
            map(
                TokenBalance._make,
                zip(repeat(token_id), units, repeat(price), values, strict=False),
            ),
            strict=True,
        )
    else:
        users, profiles, units, values, holdings = merged(
            numbers, users, profiles, units, ids, prices
        )
    total = sum(values)
    weights, whole = (values, total) if total else (units, sum(units))
    shares = [weight / whole for weight in weights]
    return list(
        map(Holder._make, zip(users, profiles, values, shares, holdings, strict=True))
    )


def merged(
    numbers: Sequence[int],
    users: Sequence[str],
    profiles: Sequence[str],
    units: Sequence[int],
    ids: Sequence[str],
    prices: Sequence[int],
) -> tuple[list[Any], ...]:
    """The columns of holders of whom each may have several rows."""
    columns: tuple[list[Any], ...] = ([], [], [], [], [])
    holding: list[TokenBalance] = []
    last = None
    for number, user, profile, balance in zip(
        numbers, users, profiles, units, strict=True
    ):
        if user != last:
            last, holding = user, []
            for column, value in zip(
                columns, (user, profile, 0, 0, holding), strict=True
            ):
                column.append(value)
        price = prices[number]
        holding.append(TokenBalance(ids[number], balance, price, balance * price))
        columns[2][-1] += balance
        columns[3][-1] += balance * price
    return columns


def too_many(count: int) -> CapitalizationTableTooLarge:
    maximum = settings.PARTNER_API_MAX_HOLDERS
    return CapitalizationTableTooLarge(
        f"The table lists {count} holders; at most {maximum} are answered. Leave "
        "`holders` out for the totals.",
        maximum=maximum,
    )


def too_much(name: str) -> CapitalizationTableTooLarge:
    return CapitalizationTableTooLarge(
        f"`{name}` is above 2⁶⁴−1 cents; add up the values of `tokens` yourself.",
        maximum=MAX_UINT64,
    )


NOTE = """
    SELECT noted_at::text, issuer_place, noted_token::text, noted_price,
        noted_held::text, noted_supply::text, noted_holders, noted_seq, noted_last_seq
    FROM register_note(%s::uuid[], %s::timestamptz)
"""
# Balances as they are serve where nothing was posted since. Each other account is
# looked up, unless that would cost more than one scan of all postings: no more
# accounts can have changed than there are holders, then or now, nor than postings.
HOLDERS = """
    WITH noted AS MATERIALIZED (
        SELECT n.*, %s::bigint * least(
                2 * (h.last_seq - n.seq), greatest(n.holders, h.holder_count)
            ) > 2 * h.last_seq AS is_scanned
        FROM unnest(%s::int[], %s::int[], %s::uuid[], %s::bigint[], %s::bigint[],
                %s::bigint[]) AS n (place, number, token_id, seq, holders, price)
        JOIN issuers_tokenledgerhead h ON h.token_id = n.token_id
    ), balances AS (
        SELECT n.place, n.number, n.price, b.account_id, b.balance
        FROM noted n
        JOIN issuers_holderbalance b
            ON b.token_id = n.token_id AND b.last_seq <= n.seq
        WHERE NOT n.is_scanned
        UNION ALL
        SELECT n.place, n.number, n.price, b.account_id, p.balance_after
        FROM noted n
        JOIN issuers_holderbalance b
            ON b.token_id = n.token_id AND b.last_seq > n.seq
        CROSS JOIN LATERAL (
            SELECT p.balance_after FROM issuers_ledgerposting p
            WHERE p.token_id = b.token_id AND p.account_id = b.account_id
              AND p.seq <= n.seq
            ORDER BY p.seq DESC LIMIT 1
        ) p
        WHERE NOT n.is_scanned
        UNION ALL
        SELECT n.place, n.number, n.price, p.account_id, p.balance_after
        FROM noted n
        CROSS JOIN LATERAL (
            SELECT DISTINCT ON (account_id) account_id, balance_after
            FROM issuers_ledgerposting
            WHERE token_id = n.token_id AND seq <= n.seq
            ORDER BY account_id, seq DESC
        ) p
        WHERE n.is_scanned
    )
    SELECT place, number, a.user_id::text, a.holder_id::text, balance::text
    FROM balances {accounts}
    WHERE balance > 0 AND a.kind = 'HOLDER'
    ORDER BY place, {value} DESC, a.user_id, number
"""
VALUES = {
    False: "balance * price",
    # Where some issuer has more than one token, a holder's value is a sum.
    True: "sum(balance * price) OVER (PARTITION BY place, account_id)",
}
ACCOUNTS = {
    # The planner would read the accounts of all the world for those of one register.
    False: """CROSS JOIN LATERAL (
        SELECT * FROM issuers_ledgeraccount WHERE id = account_id LIMIT 1) a""",
    True: "JOIN issuers_ledgeraccount a ON a.id = account_id",
}

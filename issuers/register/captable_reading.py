"""Reads the holders of tokens of capitalization tables, as of an entry of each."""

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from issuers.register.captable_columns import Holders, Holding, TokenSummary
from partnerapi.core.database import fetch

MANY = 50_000
"""With more holders, PostgreSQL joins and sorts the balances in memory."""
LOOK_UP, SORT = 32, 8
"""What it costs to look up an account's balance, and to read and sort a posting."""


def read_holders(
    places: Sequence[int], summaries: Sequence[Sequence[TokenSummary]]
) -> Iterator[tuple[int, Holders]]:
    """The holders at each of the places in `summaries`; one statement."""
    as_of = [
        (place, number, token)
        for place in places
        for number, token in enumerate(summaries[place])
        if token.holder_count
    ]
    if not as_of:
        return
    tokens = [token for *_, token in as_of]
    ways = [cheapest_way(token) for token in tokens]
    many = sum(token.holder_count for token in tokens) > MANY
    if len(as_of) == 1:
        [token], [way] = tokens, ways
        balances = WAYS[way].format(accounts=ACCOUNTS[many])
        statement = ONE.format(balances=balances, order=ORDERS[token.price > 0])
        arguments: list[Any] = [token.token_id, token.seq]
    else:
        # A holder's value is a sum where some issuer has more than one token.
        value = VALUES[len(as_of) > len(places)]
        branches = [
            BRANCH.format(way=way, balances=WAYS[way]) for way in sorted(set(ways))
        ]
        balances = "UNION ALL".join(branches).format(accounts=ACCOUNTS[many])
        statement = SEVERAL.format(balances=balances, value=value)
        arguments = [
            [place for place, *_ in as_of],
            [number for _, number, _ in as_of],
            [token.token_id for token in tokens],
            [token.seq for token in tokens],
            [token.price for token in tokens],
            [*map(str, ways)],
        ]
    if many:
        with transaction.atomic():
            fetch(IN_MEMORY, [], tuple)
            rows = fetch(statement, arguments, tuple)
    else:
        rows = fetch(statement, arguments, tuple)
    if len(as_of) == 1:
        yield places[0], one_token(tokens[0], *rows[0])
        return
    for place, group in groupby(rows, itemgetter(0)):
        yield place, several_tokens(summaries[place], group)


class Way(StrEnum):
    """Where balances as of an entry are read from."""

    PRESENT = "PRESENT"
    EVERY_POSTING = "EVERY_POSTING"
    BEGINNING = "BEGINNING"


def cheapest_way(token: TokenSummary) -> Way:
    """Counts costs in postings that an index-only scan passes over."""
    accounts = max(token.holder_count, token.last_holder_count)
    changed = min(2 * (token.last_seq - token.seq), accounts)
    costs = {
        Way.PRESENT: accounts + LOOK_UP * changed,
        Way.EVERY_POSTING: 2 * token.last_seq,
        Way.BEGINNING: SORT * 2 * token.seq,
    }
    return min(costs, key=costs.__getitem__)


def one_token(token: TokenSummary, balances: str, users: str) -> Holders:
    """The holders of one token by value; the columns come as text."""
    texts, user_ids = balances.split(","), users.split(",")
    if token.price:
        sort_ties(texts, user_ids)
    units = list(map(int, texts))
    return Holders(user_ids, [Holding(token, range(len(user_ids)), units)])


def sort_ties(sorted_column: Sequence[str], column: list[str]) -> None:
    """Sort the second column within equal values of the first, which is sorted."""
    start = 0
    for _, group in groupby(sorted_column):
        end = start + len(list(group))
        if end - start > 1:
            column[start:end] = sorted(column[start:end])
        start = end


def several_tokens(
    tokens: Sequence[TokenSummary], rows: Iterable[tuple[int, int, str, str]]
) -> Holders:
    """The holders, from rows that come holder by holder, each with a token's number."""
    user_ids: list[str] = []
    columns: list[tuple[list[int], list[int]]] = [([], []) for _ in tokens]
    for _, number, user_id, balance in rows:
        if not user_ids or user_ids[-1] != user_id:
            user_ids.append(user_id)
        places, units = columns[number]
        places.append(len(user_ids) - 1)
        units.append(int(balance))
    return Holders(
        user_ids,
        [
            Holding(token, places, units)
            for token, (places, units) in zip(tokens, columns, strict=True)
            if units
        ],
    )


# On disk it would take twice as long. Balances come in the order of their accounts,
# so a merge suffices. Parallel workers would each read all of them.
IN_MEMORY = """
    SELECT set_config('work_mem', '256MB', TRUE), set_config('jit', 'off', TRUE),
        set_config('enable_hashjoin', 'off', TRUE),
        set_config('max_parallel_workers_per_gather', '0', TRUE)
"""
WAYS = {
    # Balances as they are serve where nothing was posted since; others are looked up.
    Way.PRESENT: """
        SELECT n.*, b.user_id,
            CASE WHEN b.last_seq <= n.seq THEN b.balance ELSE (
                SELECT p.balance_after FROM issuers_ledgerposting p
                WHERE p.token_id = n.token_id AND p.account_id = b.account_id
                    AND p.seq <= n.seq
                ORDER BY p.seq DESC LIMIT 1
            ) END AS balance
        FROM noted n JOIN issuers_holderbalance b ON b.token_id = n.token_id
    """,
    # Postings are indexed by account.
    Way.EVERY_POSTING: """
        SELECT n.*, a.user_id, p.balance_after AS balance
        FROM noted n
        CROSS JOIN LATERAL (
            SELECT DISTINCT ON (account_id) account_id, balance_after
            FROM issuers_ledgerposting
            WHERE token_id = n.token_id AND seq <= n.seq
            ORDER BY account_id, seq DESC
        ) p
        {accounts}
    """,
    # By number they are read first: the planner cannot know that they are few.
    Way.BEGINNING: """
        SELECT n.*, a.user_id, p.balance_after AS balance
        FROM noted n
        CROSS JOIN LATERAL (
            SELECT DISTINCT ON (account_id) account_id, balance_after
            FROM (
                SELECT account_id, seq, balance_after FROM issuers_ledgerposting
                WHERE token_id = n.token_id AND seq <= n.seq
                ORDER BY seq, leg OFFSET 0
            ) early
            ORDER BY account_id, seq DESC
        ) p
        {accounts}
    """,
}
ACCOUNTS = {
    # The planner would read all accounts to get those of one register.
    False: """CROSS JOIN LATERAL (
            SELECT user_id FROM issuers_ledgeraccount WHERE id = p.account_id LIMIT 1
        ) a""",
    True: "JOIN issuers_ledgeraccount a ON a.id = p.account_id",
}
# Columns as text: a million rows would take longer on their way than to be read. To
# compare ids where values are equal is slow here, and quick in Python.
ONE = """
    WITH noted AS (SELECT %s::uuid AS token_id, %s::bigint AS seq),
    balances AS ({balances})
    SELECT string_agg(balance::text, ','), string_agg(user_id::text, ',')
    FROM (
        SELECT balance, user_id FROM balances
        WHERE balance > 0 AND user_id IS NOT NULL ORDER BY {order}
    ) AS ordered
"""
ORDERS = {
    # Supply times price fits.
    True: "balance::bigint DESC",
    # Without a price, all are worth the same.
    False: "user_id",
}
SEVERAL = """
    WITH all_noted AS (
        SELECT * FROM unnest(%s::int[], %s::int[], %s::uuid[], %s::bigint[],
            %s::bigint[], %s::text[])
            AS n (place, number, token_id, seq, price, way)
    ), balances AS ({balances})
    SELECT place, number, user_id::text, balance::text
    FROM balances
    WHERE balance > 0 AND user_id IS NOT NULL
    ORDER BY place, {value} DESC, user_id, number
"""
BRANCH = """(
    WITH noted AS (SELECT * FROM all_noted WHERE way = '{way}') {balances}
)"""
VALUES = {
    False: "balance * price",
    True: "sum(balance * price) OVER (PARTITION BY place, user_id)",
}

"""Reads who held the tokens of capitalization tables, as of their noted entries."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from issuers.captable_columns import Holders, Holding, TokenSummary
from partnerapi.engine.pages import fetch

MANY = 200_000
"""Of more holders, accounts are read all at once and not each."""
SCAN_RATIO = 32
"""One account's balance in the past costs about as much as this many postings in a
scan of all of them."""


def read_holders(
    places: Sequence[int], summaries: Sequence[Sequence[TokenSummary]]
) -> Iterator[tuple[int, Holders]]:
    """For each of the places in `summaries` its holders, in one statement."""
    noted = [
        (place, number, token)
        for place in places
        for number, token in enumerate(summaries[place])
        if token.holder_count
    ]
    if not noted:
        return
    tokens = [token for *_, token in noted]
    many = sum(token.holder_count for token in tokens) > MANY
    balances = BALANCES
    arguments: list[Any] = [
        SCAN_RATIO,
        [place for place, *_ in noted],
        [number for _, number, _ in noted],
        [token.token_id for token in tokens],
        [token.seq for token in tokens],
        [token.holder_count for token in tokens],
        [token.price for token in tokens],
    ]
    if len(noted) == 1:
        [token] = tokens
        rest = ONE.format(order=ORDERS[token.price > 0], accounts=ACCOUNTS[many])
        if many and is_long_ago(token):
            balances, arguments = SCANNED, [token.token_id, token.seq]
    else:
        several = len(noted) > len(places)
        rest = SEVERAL.format(value=VALUES[several], accounts=ACCOUNTS[many])
    if many:
        with transaction.atomic():
            fetch(IN_MEMORY, [], tuple)
            rows = fetch(balances + rest, arguments, tuple)
    else:
        rows = fetch(balances + rest, arguments, tuple)
    if len(noted) == 1:
        yield places[0], one_token(tokens[0], *rows[0])
        return
    for place, group in groupby(rows, itemgetter(0)):
        yield place, several_tokens(summaries[place], group)


def is_long_ago(token: TokenSummary) -> bool:
    """Whether to look up each balance that has changed since costs more than a scan."""
    changed = min(2 * (token.last_seq - token.seq), token.holder_count)
    return SCAN_RATIO * changed > 2 * token.last_seq


def one_token(token: TokenSummary, balances: str, users: str) -> Holders:
    """The holders of one token, of columns as text, by value."""
    texts, user_ids = balances.split(","), users.split(",")
    if token.price:
        sort_ties(texts, user_ids)
    units = list(map(int, texts))
    return Holders(user_ids, [Holding(token, range(len(user_ids)), units)])


def sort_ties(sorted_column: Sequence[str], column: list[str]) -> None:
    """Sort the second column where the first, which is sorted already, is equal."""
    start = 0
    for _, group in groupby(sorted_column):
        end = start + len(list(group))
        if end - start > 1:
            column[start:end] = sorted(column[start:end])
        start = end


def several_tokens(
    tokens: Sequence[TokenSummary], rows: Iterable[tuple[int, int, str, str]]
) -> Holders:
    """The holders of rows that come holder by holder, each with a token's number."""
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


# Joined and sorted in memory: on the disk it would take twice as long. Balances come
# in the order of their accounts, and merge. Workers would each read all of them.
IN_MEMORY = """
    SELECT set_config('work_mem', '256MB', TRUE), set_config('jit', 'off', TRUE),
        set_config('enable_hashjoin', 'off', TRUE),
        set_config('max_parallel_workers_per_gather', '0', TRUE)
"""
# Balances as they are serve where nothing was posted since. Each other account is
# looked up, unless that would cost more than one scan of all postings: no more
# accounts can have changed than there are holders, then or now, nor than postings.
BALANCES = """
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
"""
# The same for one token, when it is clear that all of it is scanned: the planner knows
# how much that is.
SCANNED = """
    WITH balances AS (
        SELECT DISTINCT ON (account_id) account_id, balance_after AS balance
        FROM issuers_ledgerposting WHERE token_id = %s AND seq <= %s
        ORDER BY account_id, seq DESC
    )
"""
# Columns as text: a million rows would take longer on their way than to be read. To
# compare ids where values are equal is slow here, and quick in Python.
ONE = """
    SELECT string_agg(balance::text, ','), string_agg(user_id::text, ',')
    FROM (
        SELECT balance, a.user_id FROM balances {accounts}
        WHERE balance > 0 AND a.kind = 'HOLDER' ORDER BY {order}
    ) AS ordered
"""
ORDERS = {
    # Supply times price fits.
    True: "balance::bigint DESC",
    # Without a price, all are worth the same.
    False: "a.user_id",
}
SEVERAL = """
    SELECT place, number, a.user_id::text, balance::text
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

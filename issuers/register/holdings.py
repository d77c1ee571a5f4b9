"""Users' holdings of all tokens at an instant."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from issuers.register.captable import CapitalizationTableTooLarge, tokens_as_of
from partnerapi.core.database import array_text, fetch

MOST_BALANCES = 1_000
"""Tokens that one user's list may have."""


class HeldBalance(NamedTuple):
    """A user's units of a token; price and value in euro cents."""

    issuer_id: str
    token_id: str
    balance: int
    price: int
    value: int


def balances_of(
    users: Sequence[str], at: datetime | None, issuers: Collection[str] | None
) -> list[list[HeldBalance] | CapitalizationTableTooLarge]:
    """Each user's balances of the issuers' tokens, in the order of the tokens' ids.

    `issuers` None means all of them. `at` None means now, and so does an instant in the
    future. Three statements, however many users there are.

    Raises:
        RequestTimeout: a writer holds one of the ledgers for too long.
    """
    held: dict[str, list[HeldBalance]] = {user_id: [] for user_id in users}
    wanted = None if issuers is None else array_text(issuers)
    known = fetch(KNOWN, [array_text(held), wanted, wanted], tuple)
    if not known:
        return [[] for _ in users]
    _, summaries = tokens_as_of(sorted({issuer_id for *_, issuer_id in known}), at)
    as_of = {token.token_id: token for tokens in summaries for token in tokens}
    known = [row for row in known if row[2] in as_of]
    columns = [list(column) for column in zip(*known, strict=True)] or [[], [], [], []]
    seqs = [as_of[token_id].seq for token_id in columns[2]]
    found = fetch(BALANCES, [columns[1], columns[2], seqs], tuple)
    for row, units in found:
        user_id, _, token_id, issuer_id = known[row - 1]
        price, balance = as_of[token_id].price, int(units)
        held[user_id].append(
            HeldBalance(issuer_id, token_id, balance, price, balance * price)
        )
    return [within_limit(held[user_id]) for user_id in users]


def within_limit(
    balances: list[HeldBalance],
) -> list[HeldBalance] | CapitalizationTableTooLarge:
    if len(balances) <= MOST_BALANCES:
        return balances
    return CapitalizationTableTooLarge(
        f"The user holds units of {len(balances)} tokens; the limit is "
        f"{MOST_BALANCES}. Read the tables of their issuers instead.",
        maximum=MOST_BALANCES,
    )


# A user who has ever had units of a token has a balance of it, perhaps 0.
KNOWN = """
    SELECT a.user_id::text, b.account_id, b.token_id::text, t.issuer_id::text
    FROM issuers_ledgeraccount a
    JOIN issuers_holderbalance b ON b.account_id = a.id
    JOIN issuers_token t ON t.id = b.token_id
    WHERE a.user_id = ANY (%s::uuid[])
        AND (%s::uuid[] IS NULL OR t.issuer_id = ANY (%s::uuid[]))
    ORDER BY a.user_id, b.token_id
"""
BALANCES = """
    SELECT n.row, p.balance_after::text
    FROM unnest(%s::bigint[], %s::uuid[], %s::bigint[])
        WITH ORDINALITY AS n (account_id, token_id, seq, row)
    CROSS JOIN LATERAL (
        SELECT x.balance_after FROM issuers_ledgerposting x
        WHERE x.token_id = n.token_id AND x.account_id = n.account_id
            AND x.seq <= n.seq
        ORDER BY x.seq DESC LIMIT 1
    ) AS p
    WHERE p.balance_after > 0 ORDER BY n.row
"""

"""The SHA-256 chains of cash accounts, computed again from their postings.

The lines are those of the database's view `cash_entry_lines`: canonical JSON (RFC
8785) of what the API answers of a `CashEntry`, with the digest of the private part.
The database keeps the last digest of each chain in the cash account's head.
"""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from partnerapi.core.chains import BEGINNING, after, opened, rows_of


class CashChainHead(NamedTuple):
    """The last posting of a cash account, and the digest after its line."""

    cash_account: int
    number: int
    digest: bytes


def computed_heads() -> Iterator[CashChainHead]:
    """The heads of the accounts that have postings."""
    rows = rows_of(LINES, [])
    for account, lines in groupby(rows, itemgetter(0)):
        digest, last = BEGINNING, 0
        for _, number, *line in lines:
            digest, last = after(digest, opened(*line)), number
        yield CashChainHead(account, last, digest)


LINES = """
    SELECT cash_account_id, number, line, private, salt, private_digest
    FROM cash_entry_lines ORDER BY cash_account_id, number
"""

"""The SHA-256 chains of a token's entries and of its prices, computed again from them.

The lines are those of the database's views `register_entry_lines` and
`register_price_lines`: JSON with sorted members and without white space. The digest
after a line is the SHA-256 of the digest before it (32 zero bytes at first) and of the
line's UTF-8. The database keeps the last digest of each chain, in the token's head.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from django.db import connection

BEGINNING = bytes(32)
"""The digest before the first line."""
BATCH = 2_000


class Chain(StrEnum):
    """A chain's view."""

    ENTRIES = "register_entry_lines"
    PRICES = "register_price_lines"


def chain_lines(
    chain: Chain, token_id: object, last: int | None = None
) -> Iterator[tuple[str, bytes]]:
    """Each line in order, and the digest after it; up to number `last`.

    Outside a transaction the database would hold all lines at once.
    """
    digest = BEGINNING
    for (line,) in rows_of(LINES.format(view=chain), [token_id, last]):
        digest = hashlib.sha256(digest + line.encode()).digest()
        yield line, digest


def digest_after(chain: Chain, token_id: object, last: int) -> tuple[int, str]:
    """The number of lines up to a number, and the digest after the last of them.

    The digest is in hexadecimal digits.
    """
    end = deque(enumerate(chain_lines(chain, token_id, last), 1), maxlen=1)
    count, (_, digest) = end[0] if end else (0, ("", BEGINNING))
    return count, digest.hex()


def rows_of(statement: str, arguments: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement, in batches: a register is longer than memory."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, arguments)
        while rows := cursor.fetchmany(BATCH):
            yield from rows


LINES = """
    SELECT line FROM {view}
    WHERE token_id = %s AND number <= coalesce(%s, 9223372036854775807)
    ORDER BY number
"""

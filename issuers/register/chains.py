"""The SHA-256 chains of a token's entries and of its prices, computed again from them.

The lines are those of the database's views `register_entry_lines` and
`register_price_lines`: canonical JSON (RFC 8785). The digest after a line is the
SHA-256 of the digest before it (32 zero bytes at first) and of the line's UTF-8. The
database keeps the last digest of each chain, in the token's head.

A line of version 2 has what the API answers, and the digest of the private part.
"""

from collections import deque
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from partnerapi.core.chains import BEGINNING, after, opened, rows_of


class Chain(StrEnum):
    """A chain's view."""

    ENTRIES = "register_entry_lines"
    PRICES = "register_price_lines"


class ChainLine(NamedTuple):
    """A line, and the digest after it; of version 2 with its private part and salt."""

    line: str
    private: str | None
    salt: bytes | None
    digest: bytes


def chain_lines(
    chain: Chain, token_id: object, last: int | None = None
) -> Iterator[ChainLine]:
    """Each line in order, up to number `last`.

    A line of version 2 names the digest that its private part has now, so that a change
    of either is a change of the line. Outside a transaction the database would hold all
    lines at once.
    """
    digest = BEGINNING
    for line, private, salt, named in rows_of(
        LINES.format(view=chain), [token_id, last]
    ):
        line = opened(line, private, salt, named)
        digest = after(digest, line)
        yield ChainLine(line, private, salt, digest)


def digest_after(chain: Chain, token_id: object, last: int) -> tuple[int, str]:
    """The number of lines up to a number, and the digest after the last of them.

    The digest is in hexadecimal digits.
    """
    end = deque(enumerate(chain_lines(chain, token_id, last), 1), maxlen=1)
    if not end:
        return 0, BEGINNING.hex()
    [(count, last_line)] = end
    return count, last_line.digest.hex()


LINES = """
    SELECT line, private, salt, private_digest FROM {view}
    WHERE token_id = %s AND number <= coalesce(%s, 9223372036854775807)
    ORDER BY number
"""

"""SHA-256 chains: the digest after a line is of the digest before it and the line."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

BEGINNING = bytes(32)
"""The digest before the first line."""
BATCH = 2_000


def opened(line: str, private: str | None, salt: bytes | None, named: bytes) -> str:
    """A line that names the digest that its private part has now.

    So a change of either is a change of the line. A line without a salt has no private
    part.
    """
    if salt is None or private is None:
        return line
    digest = hashlib.sha256(salt + private.encode()).hexdigest()
    return line.replace(named.hex(), digest)


def after(digest: bytes, line: str) -> bytes:
    """The digest after a line; a redacted one names the digests before and after it."""
    if line.startswith('{"digestAfter":'):
        said = json.loads(line)
        if said["digestBefore"] == digest.hex():
            return bytes.fromhex(said["digestAfter"])
    return hashlib.sha256(digest + line.encode()).digest()


def rows_of(statement: str, arguments: list[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a statement, in batches: a register is longer than memory."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, arguments)
        while rows := cursor.fetchmany(BATCH):
            yield from rows

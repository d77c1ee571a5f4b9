"""Opaque cursors: a row's place in the order of its list.

A cursor is base64url of a version, a CRC32, and the text `list|id|key|…`. It holds a
place and not a row: it stays good when rows around it, or its own row, are deleted.
"""

import base64
import re
import zlib
from binascii import b2a_base64
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from partnerapi.core.errors import InvalidCursor

OrderKeyType = Literal["uuid", "text", "bigint", "timestamptz"]

VERSION = b"\x01"
CHECKSUM_BYTES = 4
URL_SAFE = bytes.maketrans(b"+/", b"-_")
FORMS: dict[OrderKeyType, re.Pattern[str]] = {
    "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "text": re.compile(r"[^\0]*", re.DOTALL),
    "bigint": re.compile(r"-?[0-9]{1,18}"),
    "timestamptz": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00", re.A),
}


def encode_cursors(rows: Sequence[Any]) -> list[str]:
    """The cursors of rows of one list; each row brings its `cursor_key`."""
    if not rows:
        return []
    name = f"{rows[0].list_name}|".encode()
    of_name = zlib.crc32(name)
    # One translation serves all cursors: base64 holds no blank.
    encoded = b" ".join(
        [
            b2a_base64(
                VERSION
                + zlib.crc32(key, of_name).to_bytes(CHECKSUM_BYTES, "big")
                + name
                + key,
                newline=False,
            )
            for key in [row.cursor_key.encode() for row in rows]
        ]
    )
    return encoded.translate(URL_SAFE, b"=").decode().split(" ")


def encode_cursor(list_name: str, key: str) -> str:
    """The cursor of a place in a list, from the text `id|key|…`."""
    place = f"{list_name}|{key}".encode()
    checksum = zlib.crc32(place).to_bytes(CHECKSUM_BYTES, "big")
    return base64.urlsafe_b64encode(VERSION + checksum + place).decode().rstrip("=")


def decode_cursor(
    cursor: str, list_name: str, types: Sequence[OrderKeyType]
) -> list[str]:
    """The id and the order keys in a cursor, as text that PostgreSQL reads.

    Raises:
        InvalidCursor: the cursor is damaged, or of another version or list.
    """
    try:
        content = base64.b64decode(
            cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
        )
        place = content[1 + CHECKSUM_BYTES :]
        name, *keys = place.decode().split("|", len(types))
        checksum = zlib.crc32(place).to_bytes(CHECKSUM_BYTES, "big")
        if content != VERSION + checksum + place or name != list_name:
            raise ValueError("another list's, or damaged")
        for type_, key in zip(types, keys, strict=True):
            if not FORMS[type_].fullmatch(key):
                raise ValueError(f"{key!r} is no {type_}")
            if type_ == "timestamptz":
                datetime.fromisoformat(key)
    except ValueError as error:
        raise InvalidCursor(
            "This is not a cursor of this list. Pass a cursor, startCursor or "
            "endCursor from an answer of the same field, unchanged."
        ) from error
    return keys

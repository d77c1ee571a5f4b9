"""Opaque cursors: a row's place in the order of its list.

A cursor is base64url of a version, a CRC32, and the text `list|id|key|…`. It holds a
place and not a row: it stays good when rows around it, or its own row, are deleted. The
CRC32 of a cursor of a nested list covers the parent, too, so that another refuses it.
"""

import base64
import re
import zlib
from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import cycle
from typing import Any, Literal

from partnerapi.core.errors import InvalidCursor

OrderKeyType = Literal["uuid", "text", "bigint", "timestamptz"]

OF_ROOT, OF_PARENT = b"\x01", b"\x02"
CHECKSUM_BYTES = 4
URL_SAFE = bytes.maketrans(b"+/", b"-_")
FORMS: dict[OrderKeyType, re.Pattern[str]] = {
    "uuid": re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    "text": re.compile(r"[^\0]*", re.DOTALL),
    "bigint": re.compile(r"-?[0-9]{1,18}"),
    "timestamptz": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00", re.A),
}


def encode_cursors(rows: Sequence[Any]) -> list[str]:
    """The cursors of rows of one list; each row brings its `cursor_key`.

    Rows of a nested list bring their `parent_key`, too.
    """
    if not rows:
        return []
    name = f"{rows[0].list_name}|".encode()
    version = OF_ROOT
    before: Iterable[int] = cycle([zlib.crc32(name)])
    if rows[0].parent_key is not None:
        version = OF_PARENT
        before = [zlib.crc32(name, zlib.crc32(r.parent_key.encode())) for r in rows]
    # One translation serves all cursors: base64 holds no blank.
    encoded = b" ".join(
        [
            b2a_base64(
                version
                + zlib.crc32(key, crc).to_bytes(CHECKSUM_BYTES, "big")
                + name
                + key,
                newline=False,
            )
            for crc, key in zip(
                before, [row.cursor_key.encode() for row in rows], strict=False
            )
        ]
    )
    return encoded.translate(URL_SAFE, b"=").decode().split(" ")


def encode_cursor(list_name: str, key: str) -> str:
    """The cursor of a place in a list at the root, from the text `id|key|…`."""
    place = f"{list_name}|{key}".encode()
    checksum = zlib.crc32(place).to_bytes(CHECKSUM_BYTES, "big")
    return base64.urlsafe_b64encode(OF_ROOT + checksum + place).decode().rstrip("=")


def decode_cursor(
    cursor: str,
    list_name: str,
    types: Sequence[OrderKeyType],
    parents: Sequence[str] | None = None,
) -> list[str]:
    """The id and the order keys in a cursor, as text that PostgreSQL reads.

    `parents` are those of a nested list, one of which it is of.

    Raises:
        InvalidCursor: the cursor is damaged, or of another version, list or parent.
    """
    keys = keys_in(cursor, list_name, types)
    of = [None] if parents is None else parents
    if not any(belongs(cursor, parent) for parent in of):
        raise foreign()
    return keys


def keys_in(cursor: str, list_name: str, types: Sequence[OrderKeyType]) -> list[str]:
    """What `decode_cursor` answers, whatever parent the cursor is of.

    Raises:
        InvalidCursor: it is of another list, or none.
    """
    try:
        name, *keys = place_in(cursor).decode().split("|", len(types))
        if name != list_name:
            raise ValueError("another list's")
        for type_, key in zip(types, keys, strict=True):
            if not FORMS[type_].fullmatch(key):
                raise ValueError(f"{key!r} is no {type_}")
            if type_ == "timestamptz":
                datetime.fromisoformat(key)
    except ValueError as error:
        raise foreign() from error
    return keys


def foreign(**details: Any) -> InvalidCursor:
    return InvalidCursor(
        "This is not a cursor of this list. Pass an unchanged cursor, startCursor "
        "or endCursor of the same field and the same object.",
        **details,
    )


def content_of(cursor: str) -> bytes:
    return base64.b64decode(
        cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True
    )


def place_in(cursor: str) -> bytes:
    return content_of(cursor)[1 + CHECKSUM_BYTES :]


def belongs(cursor: str, parent: str | None) -> bool:
    """Whether a cursor belongs to this parent's list; None: to a list at the root.

    Until 2027-11-24 a nested list also accepts cursors from before 2026-11-24, which
    contain no parent: partners keep cursors, and the changelog promises this.
    """
    content, place = content_of(cursor), place_in(cursor)
    if parent is not None and content[:1] == OF_PARENT:
        version, before = OF_PARENT, zlib.crc32(parent.encode())
    else:
        version, before = OF_ROOT, 0
    checksum = zlib.crc32(place, before).to_bytes(CHECKSUM_BYTES, "big")
    return content == version + checksum + place

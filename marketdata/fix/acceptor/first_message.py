"""A connection's first message: one whole Logon, or the connection is cut."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from marketdata.fix.acceptor.logon import READ_TAGS
from marketdata.fix.protocol import wire

LOGON_BYTES = 4096
CLOSE_SECONDS = 1.0
CHUNK = 65_536
PASSED_ON = (34, 49, 52, 56, 43, 97, 122, 98, 108, 141)
"""The fields of a Logon that the engine sees: no key is among them."""


class Cut(Exception):
    """A connection ends without an answer; the message is for our log."""


class Stream(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def read_logon(reader: asyncio.StreamReader) -> tuple[dict[int, str], bytes]:
    """The first message, which must be a whole Logon, and the bytes after it.

    Raises:
        Cut: it is not a Logon, is too long, or lacks a field that even a refusal needs.
    """
    decoder = wire.Decoder()
    message = None
    while message is None:
        data = await reader.read(LOGON_BYTES)
        if not data:
            raise Cut("it ended without a Logon")
        decoder.feed(data)
        try:
            message = decoder.next()
        except ValueError:
            # None of its bytes go to the log: they may hold a key.
            raise Cut("its first bytes are not a well-formed FIX 4.4 message") from None
        if len(message.raw if message else decoder.buffer) > LOGON_BYTES:
            raise Cut(f"its first message is longer than {LOGON_BYTES} bytes")
    if message.fields[2] != (35, "A"):
        raise Cut("its first message is not a Logon")
    tags = Counter(tag for tag, _ in message.fields)
    if twice := [tag for tag in READ_TAGS if tags[tag] > 1]:
        raise Cut(f"its Logon has tag {twice[0]} twice")
    fields = dict(message.fields)
    if missing := [tag for tag in (34, 49, 52, 56) if not fields.get(tag)]:
        raise Cut(f"its Logon lacks tag {missing[0]}")
    return fields, bytes(decoder.buffer)


def without_key(logon: Mapping[int, str]) -> bytes:
    """The Logon for the engine: the fields it reads."""
    kept = [(tag, logon[tag]) for tag in PASSED_ON if logon.get(tag)]
    return wire.encode([(35, "A"), *kept])


async def refuse(client: Stream, comp_id: str, text: str) -> None:
    """Send a Logout with the reason to a client that is not logged on."""
    client.writer.write(
        wire.encode(
            [
                (35, 5),
                (34, 1),
                (49, settings.FIX_COMP_ID),
                (52, wire.utc_timestamp(timezone.now())),
                (56, comp_id),
                (58, text),
            ]
        )
    )
    await let_read(client)


async def let_read(client: Stream) -> None:
    """Give a client CLOSE_SECONDS to read what was written to it.

    Closing with unread bytes would reset the connection and lose the Logout.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.writer.drain()
            if client.writer.can_write_eof():
                client.writer.write_eof()
            while await client.reader.read(CHUNK):
                pass

"""Filters a client's bytes for the engine, message by message.

The engine trusts the lengths that a message states for itself and its fields. So a
message passes only if it is whole and well-formed, and has no field that states the
length of another.
"""

import re
from collections.abc import Iterator

from marketdata.fix.protocol.rules import (
    DATA_FIELD,
    LOGON_WITHIN,
    LONG_TAG,
    LONGEST_MESSAGE,
    LONGEST_TAG,
    TOO_LONG,
)
from marketdata.fix.protocol.wire import DATA_FIELDS

HEAD = re.compile(rb"8=FIX[^\x01]{0,20}\x019=([0-9]{1,20})\x01")
"""Of any version: the engine answers a wrong one. Some engines write zeros before
BodyLength(9)."""
MOST_HEAD_BYTES = len("8=FIX||9=|") + 20 + 20
TRAILER = re.compile(rb"\x0110=[^\x01]*\x01")
TAG = re.compile(rb"-?([0-9]+)")
"""As the engine reads it: with zeros before it, and with a sign."""


class RuleBroken(Exception):
    """A client sent a message that the engine must not read; the text is the Logout's.

    At a Logon within a session the engine would restart its numbers before refusing it.
    Messages sent meanwhile, and the Logout, would get numbers that are too low.
    """


class Inbound:
    """Finds messages in a client's bytes as the engine would."""

    def __init__(self) -> None:
        self.buffer = bytearray()

    def messages(self, data: bytes) -> Iterator[bytes]:
        """The messages that these bytes complete.

        A garbled one is left out (FIX 4.4, volume 2, Garbled messages: ignored).

        Raises:
            RuleBroken: at the first message that may not pass.
        """
        self.buffer += data
        while (found := self.next()) is not None:
            message, body_end = found
            if is_well_formed(message, body_end):
                yield message

    def next(self) -> tuple[bytes, int] | None:
        """The next message, and its body's stated end; None: more bytes are needed.

        Raises:
            RuleBroken: it is too long.
        """
        head = HEAD.search(self.buffer)
        if head is None:
            del self.buffer[: 1 - MOST_HEAD_BYTES]
            return None
        body_end = len(head[0]) + int(head[1])
        del self.buffer[: head.start()]
        if body_end > LONGEST_MESSAGE:
            raise RuleBroken(TOO_LONG)
        trailer = TRAILER.search(self.buffer, body_end - 1)
        if (trailer.end() if trailer else len(self.buffer)) > LONGEST_MESSAGE:
            raise RuleBroken(TOO_LONG)
        if trailer is None:
            return None
        message = bytes(self.buffer[: trailer.end()])
        del self.buffer[: trailer.end()]
        return message, body_end


def is_well_formed(message: bytes, body_end: int) -> bool:
    """Whether its length and checksum are right, and its fields are tag=value.

    MsgType(35) is the third field.

    Raises:
        RuleBroken: it is well-formed, but may not pass.
    """
    trailer = b"10=%03d\x01" % (sum(message[:body_end]) % 256)
    if message[body_end - 1 :] != b"\x01" + trailer:
        return False
    fields = message[:-1].split(b"\x01")
    if not fields[2].startswith(b"35="):
        return False
    for field in fields:
        tag, equals, value = field.partition(b"=")
        match = TAG.fullmatch(tag)
        if match is None or not equals:
            return False
        if len(match[1]) > LONGEST_TAG:
            raise RuleBroken(LONG_TAG)
        if int(tag) in DATA_FIELDS:
            raise RuleBroken(DATA_FIELD.format(tag=int(tag)))
        if int(tag) == 35 and value == b"A":
            raise RuleBroken(LOGON_WITHIN)
    return True

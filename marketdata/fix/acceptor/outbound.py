"""What one connection sends: the header, the numbers and the checksum of each message.

The body of a W or X is the same bytes for many sessions, and their sum is known. So a
message costs its head, and all messages of a moment are one write.
"""

import asyncio
import logging
from datetime import UTC, datetime
from functools import lru_cache
from time import time
from typing import NamedTuple

from django.conf import settings

from marketdata.fix.protocol.rules import BEGIN_STRING, SOH
from marketdata.fix.protocol.wire import mask, utc_timestamp
from partnerapi.core.json_lines import logged_as

logger = logging.getLogger(__name__)


class Text(NamedTuple):
    """Whole fields of a message, and the sum of their bytes."""

    data: bytes
    sum: int


NOTHING = Text(b"", 0)


def as_text(fields: str) -> Text:
    data = fields.encode()
    return Text(data, sum(data))


@lru_cache(1)
def stamp(milliseconds: int) -> bytes:
    """SendingTime(52) of an instant of `time.time`."""
    return utc_timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC)).encode()


class Outbound:
    """Writes to one client, in the listener's thread.

    `number` is the MsgSeqNum(34) of the next message.
    """

    def __init__(
        self, comp_id: str, writer: asyncio.StreamWriter, request_id: str | None = None
    ) -> None:
        self.comp_id = comp_id
        self.writer: asyncio.StreamWriter | None = writer
        self.request_id = request_id
        self.loop = asyncio.get_running_loop()
        self.number = 1
        self.sent_at = time()
        self.parts: list[bytes] = []
        self.before_time = f"{SOH}49={settings.FIX_COMP_ID}{SOH}52=".encode()
        self.after_time = f"{SOH}56={comp_id}{SOH}".encode()
        self.middle = NOTHING

    def send(self, message_type: str, body: Text, request: Text = NOTHING) -> int:
        """Send a message; returns its bytes.

        Its fields are `request`, then `body`.
        """
        if not self.parts:
            self.open()
        number, middle = self.number, self.middle
        self.number = number + 1
        head = f"35={message_type}\x0134={number}"
        length = len(head) + len(middle.data) + len(request.data) + len(body.data)
        begin = f"8={BEGIN_STRING}\x019={length}\x01{head}".encode()
        total = sum(begin) + middle.sum + request.sum + body.sum
        self.parts.append(
            b"%s%s%s%s10=%03d\x01"
            % (begin, middle.data, request.data, body.data, total & 255)
        )
        return length

    def open(self) -> None:
        """Begin a write; all messages up to its end have one SendingTime(52)."""
        self.sent_at = time()
        at = stamp(int(self.sent_at * 1000))
        middle = self.before_time + at + self.after_time
        self.middle = Text(middle, sum(middle))
        self.loop.call_soon(self.flush)

    def pass_on(self, message: str) -> None:
        """Send a message that the engine has made and numbered.

        A gap fill has the number of the first message that it stands for.
        """
        begin = message.index("\x0135=") + 1
        body = message[begin : message.rindex("\x0110=") + 1].encode("latin-1")
        number = int(message.partition("\x0134=")[2].partition(SOH)[0])
        self.number = max(self.number, number + 1)
        head = b"8=%s\x019=%d\x01" % (BEGIN_STRING.encode(), len(body))
        if not self.parts:
            self.open()
        total = sum(head) + sum(body)
        self.parts.append(b"%s%s10=%03d\x01" % (head, body, total & 255))

    def flush(self) -> None:
        """Write what was sent since the last write."""
        if not self.parts:
            return
        for part in self.parts:
            self.log(">", part)
        if self.writer:
            self.writer.write(b"".join(self.parts))
        self.parts.clear()

    def close(self) -> None:
        """Write what is left, and let go of the connection.

        Sessions form cycles, and garbage is rarely collected.
        """
        self.flush()
        self.writer = None

    def log(self, direction: str, message: bytes) -> None:
        """Log a message that is sent (>) or received (<), without secrets."""
        if logger.isEnabledFor(logging.DEBUG):
            with logged_as(self.request_id):
                text = mask(message.decode(errors="replace"))
                logger.debug("%s %s %s", self.comp_id, direction, text)

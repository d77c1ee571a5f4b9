"""A client's connection to the web server: how far its request or its answer is."""

import re
import socket
from collections.abc import Iterator
from enum import Enum, auto
from time import monotonic
from typing import Any

from django.conf import settings
from gunicorn.workers.gthread import TConn

from partnerapi.core.addresses import source_of
from partnerapi.gateway.requests import Wait

HEAD_BYTES = 16 * 1024
HEAD_SECONDS = 5.0
BODY_SECONDS = 10.0
UPLOAD_BYTES = 16 * 1024 * 1024
"""Largest body that staff may send to the back office."""
UPLOAD_SECONDS = 60.0
SHORT_BYTES = 64 * 1024
"""Shorter bodies are read even where no one can pay, and the connection goes on."""
AHEAD_BYTES = 1_024
"""gunicorn reads so far beyond what the application asks for."""
FRAME_BYTES = 64 * 1024
"""Bytes around the chunks of a body, at most: each chunk takes time, however short."""
SEND_BYTES = 64 * 1024
SEND_BYTES_PER_SECOND = 10_000
CONTENT_LENGTH = re.compile(rb"^content-length:[ \t]*([0-9]+)[ \t]*\r$", re.I | re.M)
TRANSFER_ENCODING = re.compile(rb"^transfer-encoding:", re.I | re.M)
EXPECT = re.compile(rb"^expect:[ \t]*100-continue[ \t]*\r\n", re.I | re.M)
CHUNK_SIZE = re.compile(rb"([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?")
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Stream:
    """The rest of an answer, which the application makes piece by piece."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.pieces: Iterator[bytes] = iter(response)


class Buffers:
    """What gunicorn takes for a socket: bytes that have come, bytes that are to go."""

    def __init__(self) -> None:
        self.place: Any = None
        """That of the request among those that are handled; see `web_worker`."""
        self.whole_at = 0.0
        """When the request was there, a time of `time.monotonic`."""
        self.is_late = False
        """Whether its deadline passed before it had a turn."""
        self.received = bytearray()
        self.answer = bytearray()
        self.stream: Stream | None = None
        self.held_seconds = 0.0
        self.unread = False
        """Whether the body was left unread: its budget is spent."""

    def recv(self, size: int) -> bytes:
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken

    def sendall(self, data: bytes) -> None:
        self.answer += data

    def send(self, data: bytes) -> int:
        self.answer += data
        return len(data)

    def hold(self, seconds: float) -> None:
        """Delay the answer to this request, in seconds; no thread waits with it."""
        self.held_seconds = seconds

    def park(self, wait: Wait) -> bool:
        """Keep the request until there is an event; False: it is answered now."""
        return self.place is not None and bool(self.place.park(wait))

    def setblocking(self, blocking: bool) -> None:
        pass

    def gettimeout(self) -> None:
        pass

    def settimeout(self, seconds: float | None) -> None:
        pass

    def shutdown(self, how: int) -> None:
        pass

    def close(self) -> None:
        pass


class Phase(Enum):
    IDLE = auto()
    """Nothing has come of the next request."""
    HEAD = auto()
    BODY = auto()
    WORK = auto()
    """A thread has it."""
    HELD = auto()
    """The answer waits until its deadline."""
    PARKED = auto()
    """The request waits for an event, until its deadline."""
    SEND = auto()
    LINGER = auto()
    """Everything is sent; what still comes is thrown away, so that nothing is lost."""


class Connection(TConn):  # type: ignore[misc]
    """A client's connection; `moved` bytes have come or gone in this phase."""

    def __init__(self, cfg: Any, client: socket.socket, address: Any, server: Any):
        super().__init__(cfg, client, address, server)
        self.socket = client
        self.sock = self.buffers = Buffers()
        self.address = source_of(address[0]) if isinstance(address, tuple) else ""
        self.events = 0
        self.held = 0
        self.keep = False
        self.broken = False
        self.caller = ""
        """In whose turn the request is answered."""
        self.wait: Wait | None = None
        """What the request is to wait for, once its thread has left it."""
        self.begin(Phase.HEAD, HEAD_SECONDS)
        self.await_request()

    def begin(self, phase: Phase, seconds: float) -> None:
        self.phase, self.since, self.moved = phase, monotonic(), 0
        self.deadline = self.since + seconds

    def await_request(self) -> None:
        self.data_ready = True
        self.initialized, self.parser = False, None
        self.body_at: int | None = None
        self.length: int | None = None
        self.chunk_at = self.chunk_bytes = 0
        self.request = b""
        self.waits_until = 0.0

    def is_overdue(self, now: float) -> bool:
        if self.phase is Phase.WORK or now < self.deadline:
            return False
        late = now - self.deadline
        wanted = SEND_BYTES + late * SEND_BYTES_PER_SECOND
        return self.phase is not Phase.SEND or self.moved < wanted

    def speed(self, now: float) -> float:
        return self.moved / (now - self.since + 0.001)

    def is_whole(self) -> bool:
        """Whether a thread can have the request: it is there, or cannot be right."""
        received = self.buffers.received
        if self.body_at is None:
            end = received.find(b"\r\n\r\n")
            if end < 0:
                return False
            self.read_head(end + 4)
        assert self.body_at is not None
        if self.length is None:
            return self.has_last_chunk()
        return len(received) >= self.body_at + self.length

    def read_head(self, end: int) -> None:
        received = self.buffers.received
        head = bytes(received[:end])
        expected = EXPECT.search(head)
        if expected:
            del received[expected.start() : expected.end()]
            head = bytes(received[: end - len(expected[0])])
        lengths = CONTENT_LENGTH.findall(head)
        self.body_at = self.chunk_at = len(head)
        # Of a length of more digits than these the first tell that it is too long.
        digits = lengths[0].lstrip(b"0") if len(lengths) == 1 else b""
        self.length = int(digits[:18] or 0)
        upload = head.startswith((b"POST /admin/", b"PUT /admin/"))
        most = UPLOAD_BYTES if upload else settings.PARTNER_API_MAX_BODY_BYTES
        if TRANSFER_ENCODING.search(head):
            self.length = None
        elif self.length > most:
            # The application refuses it by its length.
            self.give_up()
            return
        if self.is_long() and self.is_spent(head):
            self.buffers.unread = True
            self.give_up()
            return
        self.begin(Phase.BODY, UPLOAD_SECONDS if upload else BODY_SECONDS)
        if expected and len(received) == self.body_at:
            self.buffers.answer += CONTINUE

    def is_long(self) -> bool:
        """Whether it takes less to come again than to have the body read."""
        return self.length is None or self.length > SHORT_BYTES

    def is_spent(self, head: bytes) -> bool:
        # gunicorn's master loads this module, and has no models.
        from partnerapi.gateway.heads import is_spent

        return is_spent(head, self.address)

    def stops_orders(self) -> bool:
        """Whether the complete request asks for the lane of the kill switch."""
        from partnerapi.gateway.heads import asks_for_kill_switch

        return asks_for_kill_switch(bytes(self.buffers.received[: self.body_at]))

    def called_by(self) -> str:
        """The caller of the complete request."""
        from partnerapi.gateway.heads import caller

        return caller(bytes(self.buffers.received[: self.body_at]), self.address)

    def give_up(self) -> None:
        """Hand over what is there, and close the connection after the answer."""
        assert self.body_at is not None
        self.buffers.received[self.body_at - 2 : self.body_at - 2] = (
            b"Connection: close\r\n"
        )
        self.body_at += len(b"Connection: close\r\n")
        self.chunk_at = self.body_at
        self.length = 0

    def has_last_chunk(self) -> bool:
        """Whether the chunks have ended, cannot be right, or are too many.

        `chunk_bytes` are announced by the chunks before `chunk_at`, where the next one
        begins.
        """
        received, most = self.buffers.received, settings.PARTNER_API_MAX_BODY_BYTES
        assert self.body_at is not None
        while self.chunk_at < len(received):
            end = received.find(b"\r\n", self.chunk_at)
            if end < 0:
                break
            size = CHUNK_SIZE.fullmatch(received, self.chunk_at, end)
            if size is None:
                return True
            if int(size[1], 16) == 0:
                if received.find(b"\r\n\r\n", end) >= 0:
                    return True
                break
            self.chunk_bytes += int(size[1], 16)
            self.chunk_at = end + 2 + int(size[1], 16) + 2
        awaited = max(0, self.chunk_at - 2 - len(received))
        has_come = self.chunk_bytes - awaited
        frames = len(received) - self.body_at - has_come
        # Each new piece is searched again for the line or the trailers.
        unended = len(received) - self.chunk_at
        # The application refuses it by what is too many.
        if (
            has_come > most + AHEAD_BYTES
            or frames > FRAME_BYTES
            or unended > HEAD_BYTES
        ):
            self.give_up()
            return True
        return False

    def keep_request(self) -> None:
        """Remember the bytes of a request that may be answered later."""
        received = self.buffers.received
        self.request = bytes(received) if len(received) <= HEAD_BYTES else b""

    def forget_answering(self) -> None:
        """Be as before the request was taken from what has come."""
        self.buffers.received[:] = self.request
        self.request = b""
        self.initialized, self.parser = False, None

    def read_on(self) -> None:
        """Get the next piece of the answer from the application; in a thread."""
        stream = self.buffers.stream
        assert stream is not None
        piece = next(stream.pieces, None)
        if piece is None:
            self.end_stream()
        else:
            self.buffers.answer += piece

    def end_stream(self) -> None:
        if self.buffers.stream is not None:
            self.buffers.stream.response.close()
            self.buffers.stream = None

    def send(self) -> None:
        """Send what goes without waiting."""
        answer = self.buffers.answer
        try:
            while answer:
                sent = self.socket.send(answer)
                del answer[:sent]
                self.moved += sent
        except BlockingIOError:
            pass
        except OSError:
            self.broken = True

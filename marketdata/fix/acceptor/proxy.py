"""The way of an admitted connection to the FIX engine, and of its bytes."""

import asyncio
import contextlib
import logging
from time import monotonic

from marketdata.fix.acceptor.first_message import CHUNK, CLOSE_SECONDS, Cut, Stream
from marketdata.fix.acceptor.logon import Admission
from marketdata.fix.acceptor.sequence_reset import LOGON, STEP_SECONDS, Numbering
from partnerapi.core.buckets import Bucket

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 0.2
"""Between the end of one connection to the engine and the beginning of the next."""
GATHER_SECONDS = 0.02
"""How long what follows may gather behind what was passed on to a client."""
STALL_SECONDS = 10.0
"""How long a client may leave more unread than its write buffer holds."""
ANSWER_SECONDS = 10.0
"""How long the engine may take to answer a Logon; tickets are good for as long."""
AGAIN_SECONDS = 1.0
"""How long a Logon is shown to the engine again that closes without a word."""
LONGEST_MESSAGE, TRAILER = 65_536, b"\x0110="
"""Bytes; the engine would keep as many as there are until it sees the trailer."""
INBOUND_BURST, INBOUND_PER_SECOND = 262_144, 131_072
"""Bytes that a client may send at once, and a second; more waits in its sockets."""


class Passage:
    """Leads clients to the engine, which listens on `engine_port` of this machine.

    From its Logon on a client's bytes pass both ways, and are not looked at.
    """

    def __init__(self, engine_port: int) -> None:
        self.engine_port = engine_port
        self.engine_closed_at = 0.0

    async def lead(
        self, client: Stream, admission: Admission, logon: bytes, rest: bytes
    ) -> None:
        """Pass on the Logon, then what either side says, until one of them ends.

        `rest` has come together with the Logon. Nothing follows it before its answer:
        an engine that does not take a Logon closes its socket for that and again for
        each message that follows, and then the number may be another connection's.
        """
        engine, said = await self.knock(admission, logon)
        client.writer.write(said)
        engine.writer.write(rest)
        inward = asyncio.create_task(
            pass_in(client.reader, engine.writer, admission.numbering)
        )
        outward = asyncio.create_task(pass_out(engine, client.writer))
        try:
            await asyncio.wait({inward, outward}, return_when=asyncio.FIRST_COMPLETED)
            if inward.done() and isinstance(inward.exception(), Cut):
                await inward
            if not outward.done():
                # The client has said its last word; the engine may answer it.
                engine.writer.write_eof()
                await asyncio.wait({outward}, timeout=CLOSE_SECONDS)
            else:
                await outward
        except Cut as cut:
            logger.warning(
                "%s (%s) was cut: %s", admission.comp_id, admission.login, cut
            )
        finally:
            inward.cancel()
            outward.cancel()
            self.abort(engine)
            await asyncio.gather(inward, outward, return_exceptions=True)

    def abort(self, engine: Stream) -> None:
        engine.writer.transport.abort()
        self.engine_closed_at = monotonic()

    async def settle(self) -> None:
        """Wait while the engine may still look at a connection that has ended.

        It looks at its descriptor once more after closing it: a new connection must
        not be given the number before that.
        """
        # Another one may end meanwhile.
        while (left := self.engine_closed_at + SETTLE_SECONDS - monotonic()) > 0:
            await asyncio.sleep(left)

    async def knock(self, admission: Admission, logon: bytes) -> tuple[Stream, bytes]:
        """A connection to the engine, and how its answer to the Logon begins.

        It closes the door on a CompID whose last connection it has yet to put away,
        which may take it a moment after that connection has ended.

        Raises:
            Cut: it does not take the Logon.
        """
        deadline = monotonic() + AGAIN_SECONDS
        while True:
            await self.settle()
            try:
                engine = Stream(
                    *await asyncio.open_connection(
                        "127.0.0.1", self.engine_port, limit=CHUNK
                    )
                )
            except OSError as error:
                raise Cut(f"the engine takes no connection: {error}") from None
            engine.writer.write(logon)
            said = b""
            try:
                with contextlib.suppress(ConnectionError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        said = await engine.reader.read(CHUNK)
            except TimeoutError:
                raise Cut("the engine does not answer the Logon") from None
            finally:
                if not said:
                    self.abort(engine)
            if said:
                return engine, said
            if monotonic() > deadline:
                raise Cut(
                    f"the engine did not take the Logon of {admission.comp_id}, "
                    "which may be logged on already"
                )


async def pass_in(
    client: asyncio.StreamReader, engine: asyncio.StreamWriter, numbering: Numbering
) -> None:
    """Lead a client's bytes to the engine, no faster than a session may send.

    Raises:
        Cut: a message is longer than any that a session is for.
    """
    allowance = Bucket(INBOUND_BURST, INBOUND_PER_SECOND)
    unended = 0
    seen = b""
    while data := await client.read(CHUNK):
        last = data.rfind(TRAILER)
        unended = len(data) - last if last >= 0 else unended + len(data)
        if unended > LONGEST_MESSAGE:
            raise Cut(f"it sent a message longer than {LONGEST_MESSAGE} bytes")
        if LOGON in seen + data:
            numbering.hold()
            while not numbering.is_at_rest:
                await asyncio.sleep(STEP_SECONDS)
        seen = (seen + data)[1 - len(LOGON) :]
        engine.write(data)
        await engine.drain()
        allowance.spend(len(data))
        await asyncio.sleep(allowance.debt_seconds)


async def pass_out(engine: Stream, client: asyncio.StreamWriter) -> None:
    """Lead the engine's bytes to a client, those of a while at once.

    Raises:
        Cut: the client does not read them.
    """
    transport = engine.writer.transport
    assert isinstance(transport, asyncio.Transport)
    while data := await engine.reader.read(CHUNK):
        client.write(data)
        try:
            async with asyncio.timeout(STALL_SECONDS):
                await client.drain()
        except TimeoutError:
            raise Cut(f"it read too little for {STALL_SECONDS:.0f} s") from None
        # The engine writes each message alone; to be woken for each costs the most.
        transport.pause_reading()
        await asyncio.sleep(GATHER_SECONDS)
        transport.resume_reading()

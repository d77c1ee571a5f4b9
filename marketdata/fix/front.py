"""What stands before the FIX engine: TLS, the gate of the first message, the pump.

A connection reaches the engine only with one whole Logon that was admitted; its key
is replaced by a ticket. From then on bytes pass both ways, and are not looked at.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import monotonic

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from marketdata.fix.gate import (
    CHUNK,
    CLOSE_SECONDS,
    Cut,
    Stream,
    read_logon,
    refuse,
    with_ticket,
)
from marketdata.fix.logon import Admission, Admissions, LogonRefused, NotForUs
from marketdata.fix.numbering import LOGON, STEP_SECONDS, Numbering
from marketdata.fix.sockets import listen, source

logger = logging.getLogger(__name__)

LOGON_SECONDS = 5.0
"""How long a connection may take from its first byte, of TLS too, to a whole Logon."""
SETTLE_SECONDS = 0.2
"""Between the end of one connection to the engine and the beginning of the next."""
GATHER_SECONDS = 0.02
"""How long what follows may gather behind what was passed on to a client."""
STALL_SECONDS = 10.0
"""How long a client may leave more unread than WRITE_BUFFER holds."""
ANSWER_SECONDS = 10.0
"""How long the engine may take to answer a Logon; tickets are good for as long."""
AGAIN_SECONDS = 1.0
"""How long a Logon is shown to the engine again that closes without a word."""
WRITE_BUFFER = 65_536
LONGEST_MESSAGE, TRAILER = 65_536, b"\x0110="
"""Bytes; the engine would keep as many as there are until it sees the trailer."""
INBOUND_BURST, INBOUND_PER_SECOND = 262_144, 131_072
"""Bytes that a client may send at once, and a second; more waits in its sockets."""
AT_THE_GATE = 500
"""Connections without a Logon; when more come, the one that waits longest is cut."""
VERIFIERS, UNVERIFIED = 4, 64
"""Threads that ask the database, and Logons that may wait for one of them."""
LINES_A_MINUTE = 20
BUSY = "Too many Logons at this moment; log on again in a few seconds."
NO_DATABASE = "Keys can not be looked up at this moment; log on again in a minute."


class Sparingly:
    """Warns LINES_A_MINUTE times a minute and counts the rest: floods fill no log."""

    def __init__(self) -> None:
        self.since, self.lines, self.dropped = monotonic(), 0, 0

    def warn(self, text: str, *arguments: object) -> None:
        now = monotonic()
        if now - self.since > 60:
            if self.dropped:
                logger.warning("%d like the following were not logged", self.dropped)
            self.since, self.lines, self.dropped = now, 0, 0
        if self.lines < LINES_A_MINUTE:
            self.lines += 1
            logger.warning(text, *arguments)
        else:
            self.dropped += 1


class Front:
    """Takes connections, in a thread of its own, and leads partners to the engine.

    The engine listens on `engine_port` of this machine. `context`: TLS; None: plain.
    """

    def __init__(
        self,
        admissions: Admissions,
        engine_port: int,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.admissions = admissions
        self.engine_port = engine_port
        self.context = context
        self.connections: Counter[str] = Counter()
        self.at_the_gate: dict[socket.socket, asyncio.Task[None]] = {}
        self.served: set[asyncio.Task[None]] = set()
        self.unverified = 0
        self.engine_closed_at = 0.0
        self.gate, self.refused = Sparingly(), Sparingly()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, name="fix-front", daemon=True)

    def listen(self) -> None:
        """Take the port, `port` from now on; whoever connects waits for `start`.

        Raises:
            OSError: the address or the port is not to be had.
        """
        self.listener = listen(settings.FIX_HOST, settings.FIX_PORT)
        self.port = self.listener.getsockname()[1]

    def start(self) -> None:
        """Serve who connects; `listen` has been called."""
        self.verifiers = ThreadPoolExecutor(VERIFIERS, "fix-logon")
        self.stopping = asyncio.Event()
        self.accepting = self.loop.create_task(self.accept())
        self.thread.start()

    def close(self) -> None:
        """Take no more connections."""
        self.loop.call_soon_threadsafe(self.close_listener)

    def close_listener(self) -> None:
        if self.listener.fileno() < 0:
            return
        # A connection that has just come would be handed to a task that is cancelled.
        self.loop.remove_reader(self.listener)
        self.accepting.cancel()
        self.listener.close()

    def stop(self) -> None:
        """Take no more connections, and end those there are.

        Whom the engine has logged out before has CLOSE_SECONDS to read why.
        """
        self.close()
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()
        self.verifiers.shutdown()

    def run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self.accepting)
        self.loop.run_until_complete(self.stopping.wait())
        self.loop.run_until_complete(self.end_all())
        self.loop.close()

    async def end_all(self) -> None:
        if self.served:
            await asyncio.wait(self.served, timeout=CLOSE_SECONDS)
        for task in self.served:
            task.cancel("the acceptor stops")
        await asyncio.gather(*self.served, return_exceptions=True)

    async def accept(self) -> None:
        while True:
            try:
                accepted, peer = await self.loop.sock_accept(self.listener)
            except OSError as error:
                # No more files may be open: wait for some to be closed.
                self.gate.warn("No connection can be accepted: %s", error)
                await asyncio.sleep(0.1)
                continue
            address = source(peer[0])
            if self.connections[address] >= settings.FIX_CONNECTIONS_PER_ADDRESS:
                self.gate.warn(
                    "%s was cut: it holds %d connections already "
                    "(FIX_CONNECTIONS_PER_ADDRESS)",
                    address,
                    self.connections[address],
                )
                accepted.close()
                continue
            self.connections[address] += 1
            task = self.loop.create_task(self.serve(accepted, address))
            self.served.add(task)
            self.at_the_gate[accepted] = task
            task.add_done_callback(
                partial(self.end, accepted=accepted, address=address)
            )
            if len(self.at_the_gate) > AT_THE_GATE:
                # Who means it sends a Logon at once: whoever waits longest goes.
                longest = self.at_the_gate.pop(next(iter(self.at_the_gate)))
                longest.cancel(f"more than {AT_THE_GATE} connections without a Logon")

    def end(
        self, task: asyncio.Task[None], accepted: socket.socket, address: str
    ) -> None:
        accepted.close()
        self.served.discard(task)
        self.at_the_gate.pop(accepted, None)
        self.connections[address] -= 1
        if not self.connections[address]:
            del self.connections[address]
        if not task.cancelled() and (error := task.exception()):
            logger.error("A connection of %s failed", address, exc_info=error)

    async def serve(self, accepted: socket.socket, address: str) -> None:
        """One connection, from its first byte to its last."""
        client: Stream | None = None
        try:
            try:
                async with asyncio.timeout(LOGON_SECONDS):
                    client = await self.open(accepted)
                    logon, rest = await read_logon(client.reader)
            except TimeoutError:
                raise Cut(f"no whole Logon within {LOGON_SECONDS:.0f} s") from None
            try:
                admission = await self.admit(logon, address)
            except NotForUs as refusal:
                raise Cut(str(refusal)) from None
            except LogonRefused as refusal:
                self.refused.warn(
                    "Logon of %.40r from %s was refused: %s",
                    logon[49],
                    address,
                    refusal,
                )
                await refuse(client, logon[49], str(refusal))
                return
            self.at_the_gate.pop(accepted, None)
            logger.info(
                "%s (%s) logs on from %s", admission.comp_id, admission.login, address
            )
            try:
                await self.lead(client, admission, with_ticket(logon, admission), rest)
            finally:
                self.admissions.leave(admission)
        except Cut as cut:
            self.gate.warn("%s was cut: %s", address, cut)
        except OSError as error:
            self.gate.warn("%s is gone: %s", address, error)
        except asyncio.CancelledError as end:
            self.gate.warn("%s was cut: %s", address, *end.args)
            raise
        finally:
            if client:
                await close(client)

    async def open(self, accepted: socket.socket) -> Stream:
        """Its stream, after the handshake where there is TLS."""
        reader = asyncio.StreamReader(CHUNK, self.loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=self.loop)
        seconds = {
            "ssl_handshake_timeout": LOGON_SECONDS,
            "ssl_shutdown_timeout": CLOSE_SECONDS,
        }
        transport, _ = await self.loop.connect_accepted_socket(
            lambda: protocol,
            accepted,
            ssl=self.context,
            **(seconds if self.context else {}),
        )
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        return Stream(
            reader, asyncio.StreamWriter(transport, protocol, reader, self.loop)
        )

    async def admit(self, logon: Mapping[int, str], address: str) -> Admission:
        """Judge a Logon in a thread that may wait for the database.

        Raises:
            LogonRefused
        """
        if self.unverified >= UNVERIFIED:
            raise LogonRefused(BUSY)
        self.unverified += 1
        try:
            return await self.loop.run_in_executor(
                self.verifiers, self.verify, logon, address
            )
        except Error as error:
            self.gate.warn("A Logon could not be judged: %s", error)
            raise LogonRefused(NO_DATABASE) from None
        finally:
            self.unverified -= 1

    def verify(self, logon: Mapping[int, str], address: str) -> Admission:
        try:
            return self.admissions.admit(logon, address, timezone.now())
        finally:
            # Logons are rare: none should meet a connection that has died meanwhile.
            connection.close()

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
        inward = self.loop.create_task(
            pass_in(client.reader, engine.writer, admission.numbering)
        )
        outward = self.loop.create_task(pass_out(engine, client.writer))
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
            self.engine_closed_at = monotonic()
            inward.cancel()
            outward.cancel()
            await asyncio.gather(inward, outward, return_exceptions=True)
            engine.writer.transport.abort()

    async def knock(self, admission: Admission, logon: bytes) -> tuple[Stream, bytes]:
        """A connection to the engine, and how its answer to the Logon begins.

        It closes the door on a CompID whose last connection it has yet to put away,
        which may take it a moment after that connection has ended.

        Raises:
            Cut: it does not take the Logon.
        """
        deadline = monotonic() + AGAIN_SECONDS
        while True:
            # QuickFIX looks at a connection's descriptor once more after closing it: a
            # new one must not be given its number before that.
            await asyncio.sleep(self.engine_closed_at + SETTLE_SECONDS - monotonic())
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
                    engine.writer.transport.abort()
            if said:
                return engine, said
            if monotonic() > deadline:
                raise Cut(
                    f"the engine did not take the Logon of {admission.comp_id}, "
                    "which may be logged on already"
                )
            await asyncio.sleep(AGAIN_SECONDS / 10)


async def pass_in(
    client: asyncio.StreamReader, engine: asyncio.StreamWriter, numbering: Numbering
) -> None:
    """Lead a client's bytes to the engine, no faster than a session may send.

    Raises:
        Cut: a message is longer than any that a session is for.
    """
    due = monotonic()
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
        due = max(due, monotonic() - INBOUND_BURST / INBOUND_PER_SECOND)
        due += len(data) / INBOUND_PER_SECOND
        await asyncio.sleep(max(0.0, due - monotonic()))


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


async def close(client: Stream) -> None:
    """End a connection; what is written has CLOSE_SECONDS to leave."""
    client.writer.close()
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.writer.wait_closed()
    client.writer.transport.abort()

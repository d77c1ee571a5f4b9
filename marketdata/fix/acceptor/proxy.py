"""Connects admitted partners to the FIX engine, and relays both sides' bytes."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from django.utils import timezone

from marketdata.fix.acceptor.first_message import (
    CHUNK,
    CLOSE_SECONDS,
    Cut,
    Stream,
    refuse,
)
from marketdata.fix.acceptor.inbound import Inbound, RuleBroken
from marketdata.fix.acceptor.logon import Admission, LogonRefused
from marketdata.fix.protocol.rules import (
    ALIVE_SECONDS,
    LOGGED_ON_ELSEWHERE,
    LOGGED_ON_FROM,
)
from partnerapi.core.addresses import Address
from partnerapi.core.buckets import Bucket
from partnerapi.core.sparing_log import SparingLog

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 0.2
"""From the end of one connection to the engine to the beginning of the next."""
GATHER_SECONDS = 0.02
"""How long the engine's bytes are gathered before the next write to a client."""
STALL_SECONDS = 10.0
"""How long a client may leave more unread than its write buffer holds."""
ANSWER_SECONDS = 10.0
"""How long the engine may take to answer a Logon; tickets are good for as long."""
LOGOUT_SECONDS = 0.1
"""How long the Logout of a session that is cut has to pass."""
AGAIN_SECONDS = 1.0
"""How long a Logon is repeated to an engine that closes without an answer."""
LOGOUT = b"\x0135=5\x01"
INBOUND_BURST, INBOUND_PER_SECOND = 262_144, 131_072
"""Bytes that a client may send at once, and a second; more wait in its sockets."""


class Relay:
    """A CompID's connection, from its admission to its end.

    `before` is the connection that it replaces, whose client is silent. `begun`: the
    engine has answered the Logon. `heard`: the client has sent a message since the last
    test. `ended`: the engine has been left; the client may still read.
    """

    def __init__(self, admission: Admission, address: Address) -> None:
        self.admission = admission
        self.address = address
        self.since = timezone.now()
        self.before: Relay | None = None
        self.asking: asyncio.Task[bool] | None = None
        self.begun, self.heard = asyncio.Event(), asyncio.Event()
        self.taken_over, self.ended = asyncio.Event(), asyncio.Event()


class Proxy:
    """Relays clients to the engine, which listens on `engine_port` of this machine.

    After the Logon, the engine's bytes pass unchanged, the client's as messages that
    the engine may read. `end_now` has a CompID's session send a Logout with a reason at
    once. `test` has it send a TestRequest.
    """

    def __init__(
        self,
        engine_port: int,
        end_now: Callable[[str, str], object],
        test: Callable[[str], object],
    ) -> None:
        self.engine_port = engine_port
        self.end_now = end_now
        self.test = test
        self.relays: dict[str, Relay] = {}
        self.engine_closed_at = 0.0
        self.log = SparingLog(logger)

    async def enter(self, admission: Admission, address: Address) -> Relay:
        """Take a CompID's place, after a test of the client that has it.

        Raises:
            LogonRefused: it lives.
        """
        comp_id, own = admission.comp_id, Relay(admission, address)
        while before := self.relays.get(comp_id):
            if await self.is_alive(before):
                raise LogonRefused(logged_on_from(before.address, before.since))
            # Meanwhile another Logon may have taken the place.
            if self.relays.get(comp_id) is before:
                own.before = before
                break
        self.relays[comp_id] = own
        return own

    def leave(self, own: Relay) -> None:
        """Return a CompID's place to the connection before, if it still stands."""
        own.ended.set()
        comp_id = own.admission.comp_id
        if self.relays.get(comp_id) is own:
            if own.before and not own.before.ended.is_set():
                self.relays[comp_id] = own.before
            else:
                del self.relays[comp_id]

    async def is_alive(self, relay: Relay) -> bool:
        """Whether a connection's client answers a test.

        Simultaneous callers share one test.
        """
        if relay.asking is None or relay.asking.done():
            relay.asking = asyncio.create_task(self.ask(relay))
        return await asyncio.shield(relay.asking)

    async def ask(self, relay: Relay) -> bool:
        await first_of(relay.begun, relay.ended, seconds=ANSWER_SECONDS)
        relay.heard.clear()
        await asyncio.to_thread(self.test, relay.admission.comp_id)
        await first_of(relay.heard, relay.ended, seconds=ALIVE_SECONDS)
        return relay.heard.is_set() and not relay.ended.is_set()

    async def relay(
        self, client: Stream, own: Relay, logon: bytes, rest: bytes
    ) -> None:
        """Relay a client, in the place of the CompID's connection before it."""
        if before := own.before:
            comp_id = own.admission.comp_id
            await asyncio.to_thread(self.end_now, comp_id, LOGGED_ON_ELSEWHERE)
            before.taken_over.set()
            await before.ended.wait()
            own.before = None
        if own.taken_over.is_set():
            await refuse(client, own.admission.comp_id, LOGGED_ON_ELSEWHERE)
        else:
            await self.pass_on(client, own, logon, rest)

    async def pass_on(
        self,
        client: Stream,
        own: Relay,
        logon: bytes,
        rest: bytes,
    ) -> None:
        """Pass on the Logon, then the bytes of either side, until one of them ends.

        `rest` came together with the Logon. No message follows the Logon before its
        answer: an engine that refuses a Logon closes the socket, and closes it again
        for each later message. By then the descriptor may belong to another connection.
        """
        admission = own.admission
        engine, answer = await self.connect(admission, logon)
        client.writer.write(answer)
        own.begun.set()
        inward = asyncio.create_task(
            relay_in(client.reader, engine.writer, rest, own.heard)
        )
        outward = asyncio.create_task(relay_out(engine, client.writer))
        taken = asyncio.create_task(own.taken_over.wait())
        try:
            await asyncio.wait(
                {inward, outward, taken}, return_when=asyncio.FIRST_COMPLETED
            )
            if taken.done():
                # The engine's Logout is on its way to the client.
                await asyncio.sleep(LOGOUT_SECONDS)
                return
            if inward.done() and not isinstance(inward.exception(), OSError):
                # Raises the client's error.
                await inward
            if not outward.done():
                # The client sends no more; the engine may still answer.
                engine.writer.write_eof()
                await asyncio.wait({outward}, timeout=CLOSE_SECONDS)
            else:
                await outward
        except RuleBroken as broken:
            await asyncio.to_thread(self.end_now, admission.comp_id, str(broken))
            await asyncio.sleep(LOGOUT_SECONDS)
        except Cut as cut:
            self.log.warn(
                "%s (%s) was disconnected: %s", admission.comp_id, admission.login, cut
            )
        finally:
            inward.cancel()
            outward.cancel()
            taken.cancel()
            self.abort(engine)
            await asyncio.gather(inward, outward, taken, return_exceptions=True)

    def abort(self, engine: Stream) -> None:
        engine.writer.transport.abort()
        self.engine_closed_at = monotonic()

    async def settle(self) -> None:
        """Wait while the engine may still read a connection that has ended.

        It reads the descriptor again after closing it. No new connection may get the
        number before that.
        """
        # Another connection may end meanwhile.
        while (left := self.engine_closed_at + SETTLE_SECONDS - monotonic()) > 0:
            await asyncio.sleep(left)

    async def connect(self, admission: Admission, logon: bytes) -> tuple[Stream, bytes]:
        """Connect to the engine and log on; its first bytes are its answer.

        For a moment after a connection has ended, the engine still uses the CompID, and
        closes a new connection without an answer. Then the Logon is repeated.

        Raises:
            Cut: the engine does not take the Logon.
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
                raise Cut(f"the engine accepts no connection: {error}") from None
            engine.writer.write(logon)
            answer = b""
            try:
                with contextlib.suppress(ConnectionError):
                    async with asyncio.timeout(ANSWER_SECONDS):
                        answer = await engine.reader.read(CHUNK)
            except TimeoutError:
                raise Cut("the engine does not answer the Logon") from None
            finally:
                if not answer:
                    self.abort(engine)
            if answer:
                return engine, answer
            if monotonic() > deadline:
                raise Cut(
                    f"the engine did not accept the Logon of {admission.comp_id}, "
                    "which may be logged on already"
                )


def logged_on_from(address: object, since: datetime) -> str:
    """The refusal of a second Logon while the CompID's session lives."""
    at = f"{since.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return LOGGED_ON_FROM.format(address=address, since=at)


async def first_of(*events: asyncio.Event, seconds: float) -> None:
    """Wait for one of several events, up to this time."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def relay_in(
    client: asyncio.StreamReader,
    engine: asyncio.StreamWriter,
    rest: bytes,
    heard: asyncio.Event,
) -> None:
    """Relay a client's messages to the engine, `rest` first, as fast as allowed.

    Raises:
        RuleBroken
    """
    rate = Bucket(INBOUND_BURST, INBOUND_PER_SECOND)
    inbound = Inbound()
    while data := rest or await client.read(CHUNK):
        rest = b""
        for message in inbound.messages(data):
            engine.write(message)
            if LOGOUT not in message:
                heard.set()
        await engine.drain()
        rate.spend(len(data))
        await asyncio.sleep(rate.debt_seconds)


async def relay_out(engine: Stream, client: asyncio.StreamWriter) -> None:
    """Relay the engine's bytes to a client, gathered for GATHER_SECONDS.

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
            raise Cut(f"it read too slowly for {STALL_SECONDS:.0f} s") from None
        # The engine writes each message separately. Waking up for each costs the most.
        transport.pause_reading()
        await asyncio.sleep(GATHER_SECONDS)
        transport.resume_reading()

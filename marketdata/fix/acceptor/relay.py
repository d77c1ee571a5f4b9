"""Connects admitted partners to the FIX engine, and relays their messages to it."""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Protocol

from django.utils import timezone

from marketdata.fix.acceptor.first_message import (
    CHUNK,
    Cut,
    Stream,
    let_read,
)
from marketdata.fix.acceptor.inbound import Inbound, RuleBroken
from marketdata.fix.acceptor.logon import Admission, LogonRefused
from marketdata.fix.acceptor.outbound import Outbound
from marketdata.fix.acceptor.session import (
    CONNECTION_LOST,
    EngineSession,
    LiveSession,
)
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.acceptor.sockets import drop_tracebacks
from marketdata.fix.protocol.rules import (
    ALIVE_SECONDS,
    LOGGED_ON_ELSEWHERE,
    LOGGED_ON_FROM,
)
from partnerapi.core.addresses import Address
from partnerapi.core.buckets import Bucket
from partnerapi.core.sparing_log import SparingLog

logger = logging.getLogger(__name__)

STALL_SECONDS = 10.0
"""How long a client may leave more unread than its write buffer holds."""
ANSWER_SECONDS = 10.0
"""How long a test waits for a Logon that is about to be answered."""
BEAT_SECONDS = 1.0
LOGOUT = b"\x0135=5\x01"
INBOUND_BURST, INBOUND_PER_SECOND = 262_144, 131_072
"""Bytes that a client may send at once, and a second; more wait in its sockets."""


class Engine(Protocol):
    """The FIX engine: QuickFIX, which web workers never import."""

    def session(self, comp_id: str) -> EngineSession: ...


class Relay:
    """A CompID's connection, from its admission to its end.

    `before` is the connection that it replaces, whose client is silent. `begun`: the
    engine has answered the Logon. `heard`: the client has sent a message since the last
    test. `ended`: the CompID has been left; the client may still read.
    """

    def __init__(self, admission: Admission, address: Address) -> None:
        self.admission = admission
        self.address = address
        self.since = timezone.now()
        self.session: LiveSession | None = None
        self.before: Relay | None = None
        self.asking: asyncio.Task[bool] | None = None
        self.begun, self.heard = asyncio.Event(), asyncio.Event()
        self.is_taken_over = False
        self.ended = asyncio.Event()

    def give_way(self, text: str) -> None:
        """Log the client out, and leave the CompID to another connection."""
        self.is_taken_over = True
        if self.session:
            self.session.end_now(text)


class Relays:
    """Connects admitted partners to the FIX engine, one connection for each CompID.

    The engine gets a client's messages that it may read, each whole.
    """

    def __init__(self, sessions: Sessions, engine: Engine) -> None:
        self.sessions = sessions
        self.engine = engine
        self.by_comp_id: dict[str, Relay] = {}
        self.log = SparingLog(logger)

    async def enter(self, admission: Admission, address: Address) -> Relay:
        """Take a CompID's place, after a test of the client that has it.

        Raises:
            LogonRefused: it lives.
        """
        comp_id, own = admission.comp_id, Relay(admission, address)
        while before := self.by_comp_id.get(comp_id):
            if await self.is_alive(before):
                raise LogonRefused(logged_on_from(before.address, before.since))
            # Meanwhile another Logon may have taken the place.
            if self.by_comp_id.get(comp_id) is before:
                own.before = before
                break
        self.by_comp_id[comp_id] = own
        return own

    def leave(self, own: Relay) -> None:
        """Return a CompID's place to the connection before, if it still stands."""
        own.ended.set()
        comp_id = own.admission.comp_id
        if self.by_comp_id.get(comp_id) is own:
            if own.before and not own.before.ended.is_set():
                self.by_comp_id[comp_id] = own.before
            else:
                del self.by_comp_id[comp_id]

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
        if relay.session:
            relay.session.test()
        await first_of(relay.heard, relay.ended, seconds=ALIVE_SECONDS)
        return relay.heard.is_set() and not relay.ended.is_set()

    async def serve(
        self, client: Stream, own: Relay, logon: bytes, rest: bytes
    ) -> None:
        """Serve a client from its Logon on, in the place of the connection before it.

        `rest` came together with the Logon.

        Raises:
            LogonRefused: the acceptor stops, or another connection has the CompID.
        """
        admission = own.admission
        if own.before:
            own.before.give_way(LOGGED_ON_ELSEWHERE)
            own.before = None
        if own.is_taken_over:
            raise LogonRefused(LOGGED_ON_ELSEWHERE)
        outbound = Outbound(admission.comp_id, client.writer, admission.request_id)
        engine_session = self.engine.session(admission.comp_id)
        session = self.sessions.begin(admission, engine_session, outbound)
        own.session = session
        try:
            session.receive(logon)
            if session.is_logged_on:
                own.begun.set()
                await self.read(client, own, session, rest)
            else:
                outbound.flush()
                await let_read(client)
        finally:
            session.disconnect(CONNECTION_LOST)
            if not session.ended.is_set():
                # The engine never began it.
                self.sessions.on_disconnect(admission.comp_id)
            outbound.close()

    async def read(
        self, client: Stream, own: Relay, session: LiveSession, rest: bytes
    ) -> None:
        """Have a session receive a client's messages, until one of them ends."""
        tasks = [
            asyncio.create_task(self.relay_in(client, own, session, rest)),
            asyncio.create_task(session.ended.wait()),
            # A fault of this session ends no other.
            asyncio.create_task(beat(session)),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task
        except RuleBroken as broken:
            # Its task keeps it, and a traceback would keep the task.
            drop_tracebacks(broken)
            session.end_now(str(broken))
            await let_read(client)
        except Cut as cut:
            drop_tracebacks(cut)
            session.disconnect(f"disconnected: {cut}")
            self.log.warn(
                "%s (%s) was disconnected: %s",
                *(own.admission.comp_id, own.admission.login, cut),
            )
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def relay_in(
        self, client: Stream, own: Relay, session: LiveSession, rest: bytes
    ) -> None:
        """Relay a client's messages, `rest` first, as fast as allowed.

        Raises:
            RuleBroken, OSError
            Cut: the client does not read what its messages cause to be sent.
        """
        rate = Bucket(INBOUND_BURST, INBOUND_PER_SECOND)
        inbound = Inbound()
        while data := rest or await client.reader.read(CHUNK):
            rest = b""
            for message in inbound.messages(data):
                session.receive(message)
                if session.ended.is_set():
                    return
                if LOGOUT not in message:
                    own.heard.set()
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await client.writer.drain()
            except TimeoutError:
                raise Cut(f"it read too slowly for {STALL_SECONDS:.0f} s") from None
            rate.spend(len(data))
            await asyncio.sleep(rate.debt_seconds)


async def beat(session: LiveSession) -> None:
    """Each second, have a session look at its clock; ends with its task."""
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        session.tick()


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

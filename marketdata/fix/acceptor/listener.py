"""Takes connections for the FIX engine: TLS, then the first message.

A connection reaches the engine only with one whole, admitted Logon.

A TLS connection keeps the error that ended it. The traceback of the error, or of one
that it followed, keeps the connection, with buffers of 256 KB. Garbage is rarely
collected here, and who logs may keep what is logged, so tracebacks are dropped at once.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import TypeVar

import uuid_utils
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from marketdata.fix.acceptor.claims import Claims
from marketdata.fix.acceptor.first_message import (
    CHUNK,
    CLOSE_SECONDS,
    Cut,
    Stream,
    read_logon,
    refuse,
    without_key,
)
from marketdata.fix.acceptor.leases import LOGGED_ON_THERE, Leases
from marketdata.fix.acceptor.logon import Admission, Admissions, LogonRefused, NotForUs
from marketdata.fix.acceptor.proxy_protocol import is_trusted, stated_address
from marketdata.fix.acceptor.relay import Engine, Relays
from marketdata.fix.acceptor.sessions import Sessions
from marketdata.fix.acceptor.sockets import drop_tracebacks, listen
from partnerapi.core.addresses import Address, address_of, source
from partnerapi.core.json_lines import request_id
from partnerapi.core.sparing_log import SparingLog

logger = logging.getLogger(__name__)

LOGON_SECONDS = 5.0
"""How long a connection may take from its first byte, of TLS too, to a whole Logon."""
WRITE_BUFFER = 65_536
MOST_WITHOUT_LOGON = 500
"""Open connections that have not logged on, in addition to those of the whole pool,
which may come all at once; a further one cuts the oldest of them."""
ACCEPTED_AT_ONCE = 20
"""Connections, in a turn of the loop."""
VERIFIERS, UNVERIFIED = 4, 64
"""Threads that verify Logons in the database, and Logons that may wait for one in
addition to those of the whole pool, which may come all at once."""
LEASE_LOOK_SECONDS = 0.2
T = TypeVar("T")
BUSY = "Too many Logons at the moment; log on again in a few seconds."
NO_DATABASE = "Keys cannot be looked up at the moment; log on again in a minute."


class Listener:
    """Runs the loop in its own thread: takes connections, and serves partners.

    `context`: TLS; None: plain. `leases`: those of a group of acceptors.
    """

    def __init__(
        self,
        admissions: Admissions,
        sessions: Sessions,
        engine: Engine,
        context: ssl.SSLContext | None = None,
        leases: Leases | None = None,
    ) -> None:
        self.leases = leases or Leases(sessions.end)
        self.leases.on_lost = self.on_lost
        self.leases.on_told = self.on_told
        self.leases.on_wanted = self.on_wanted
        self.claims = Claims(self.leases, self.in_thread)
        self.admissions = admissions
        self.sessions = sessions
        self.relays = Relays(sessions, engine)
        self.context = context
        self.connections: Counter[str] = Counter()
        self.without_logon: dict[socket.socket, asyncio.Task[None]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.watching: list[asyncio.Task[None]] = []
        self.unverified = 0
        self.log = SparingLog(logger)
        self.loop = sessions.loop
        self.thread = threading.Thread(
            target=self.run, name="fix-listener", daemon=True
        )

    def listen(self) -> None:
        """Take the port, `port` from now on; connections wait for `start`.

        Raises:
            OSError: the address or the port cannot be taken.
        """
        self.socket = listen(settings.FIX_HOST, settings.FIX_PORT)
        self.port = self.socket.getsockname()[1]

    def start(self) -> None:
        """Serve connections; `listen` has been called."""
        self.verifiers = ThreadPoolExecutor(VERIFIERS, "fix-logon")
        self.stopping = asyncio.Event()
        self.accepting = self.loop.create_task(self.accept())
        if not self.leases.is_alone:
            self.watch(self.watch_leases())
            self.watch(self.claims.run())
        self.thread.start()

    def watch(self, leases: Coroutine[None, None, None]) -> None:
        task = self.loop.create_task(leases)
        task.add_done_callback(on_watch_end)
        self.watching.append(task)

    @property
    def is_sound(self) -> bool:
        """Whether it takes connections, and watches leases if there are any."""
        return self.thread.is_alive() and not any(one.done() for one in self.watching)

    def close(self) -> None:
        """Take no more connections."""
        self.loop.call_soon_threadsafe(self.close_socket)

    def close_socket(self) -> None:
        if self.socket.fileno() < 0:
            return
        # Otherwise a new connection would be handed to a cancelled task.
        self.loop.remove_reader(self.socket)
        self.accepting.cancel()
        self.socket.close()

    def end_sessions(self, text: str) -> None:
        """Log all sessions out with a reason, and begin no more."""
        asyncio.run_coroutine_threadsafe(
            self.sessions.end_all(text), self.loop
        ).result()

    def stop(self) -> None:
        """Take no more connections, and end the open ones.

        A logged-out session has CLOSE_SECONDS to read the reason.
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
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=CLOSE_SECONDS)
        for watch in self.watching:
            watch.cancel()
        for task in self.tasks:
            task.cancel("the acceptor stops")
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.sessions.copies.stop()

    async def accept(self) -> None:
        while True:
            # As long as connections wait, `sock_accept` returns without a pause: those
            # accepted must read their Logons meanwhile.
            for _ in range(ACCEPTED_AT_ONCE):
                await self.accept_one()
            await asyncio.sleep(0)

    async def accept_one(self) -> None:
        try:
            accepted, peer = await self.loop.sock_accept(self.socket)
        except OSError as error:
            # The process has too many open files: wait until some are closed.
            self.log.warn("No connection can be accepted: %s", error)
            await asyncio.sleep(0.1)
            return
        address = address_of(peer[0])
        # A connection through a proxy is counted once the proxy has named its source.
        counted = None if is_trusted(address) else source(address)
        if counted and not self.may_enter(counted):
            accepted.close()
            return
        task = self.loop.create_task(self.serve(accepted, address))
        self.tasks.add(task)
        self.without_logon[accepted] = task
        task.add_done_callback(
            partial(self.end, accepted=accepted, address=address, counted=counted)
        )
        most = settings.FIX_SESSIONS + MOST_WITHOUT_LOGON
        if len(self.without_logon) > most:
            # A partner sends its Logon at once. So the oldest is the least likely to be
            # one.
            oldest = self.without_logon.pop(next(iter(self.without_logon)))
            oldest.cancel(f"more than {most} connections without a Logon")

    def may_enter(self, counted: str) -> bool:
        """Count a connection from this address or network, unless it has too many."""
        held = self.connections[counted]
        if held >= settings.FIX_CONNECTIONS_PER_ADDRESS:
            self.log.warn(
                "%s was disconnected: it holds %d connections already "
                "(FIX_CONNECTIONS_PER_ADDRESS)",
                counted,
                held,
            )
            return False
        self.connections[counted] += 1
        return True

    def leave(self, counted: str) -> None:
        self.connections[counted] -= 1
        if not self.connections[counted]:
            del self.connections[counted]

    def end(
        self,
        task: asyncio.Task[None],
        accepted: socket.socket,
        address: Address,
        counted: str | None,
    ) -> None:
        accepted.close()
        self.tasks.discard(task)
        self.without_logon.pop(accepted, None)
        if counted:
            self.leave(counted)
        if not task.cancelled() and (error := task.exception()):
            logger.error("A connection from %s failed", address, exc_info=error)

    async def serve(self, accepted: socket.socket, address: Address) -> None:
        """One connection, from first byte to last; all its log lines have an id."""
        request_id.set(str(uuid_utils.uuid7()))
        if not is_trusted(address):
            await self.serve_partner(accepted, address)
            return
        try:
            async with asyncio.timeout(LOGON_SECONDS):
                told = await stated_address(self.loop, accepted, address)
        except (Cut, TimeoutError, OSError) as error:
            self.log.warn("The proxy %s was disconnected: %s", address, error)
            return
        counted = source(told)
        if self.may_enter(counted):
            try:
                await self.serve_partner(accepted, told)
            finally:
                self.leave(counted)

    async def serve_partner(self, accepted: socket.socket, address: Address) -> None:
        """Serve a connection whose address is known."""
        client: Stream | None = None
        try:
            try:
                async with asyncio.timeout(LOGON_SECONDS):
                    client = await self.open(accepted)
                    logon, rest = await read_logon(client.reader)
            except TimeoutError:
                raise Cut(f"no complete Logon within {LOGON_SECONDS:.0f} s") from None
            # It is not a stranger's silent connection.
            self.without_logon.pop(accepted, None)
            try:
                admission = await self.admit(logon, address)
                place = await self.relays.enter(admission, address)
                try:
                    await self.take_lease(admission, address)
                    logger.info(
                        "%s (%s) logs on from %s",
                        *(admission.comp_id, admission.login, address),
                    )
                    await self.relays.serve(client, place, without_key(logon), rest)
                finally:
                    self.relays.leave(place)
                    self.leases.release(admission.comp_id, admission.lease)
            except NotForUs as refusal:
                raise Cut(str(refusal)) from None
            except LogonRefused as refusal:
                self.log.warn(
                    "Logon of %.40r from %s was refused: %s",
                    logon[49],
                    address,
                    refusal,
                )
                drop_tracebacks(refusal)
                await refuse(client, logon[49], str(refusal))
        except Cut as cut:
            self.log.warn("%s was disconnected: %s", address, cut)
            drop_tracebacks(cut)
        except OSError as error:
            self.log.warn("%s disconnected: %s", address, error)
            drop_tracebacks(error)
        except asyncio.CancelledError as end:
            self.log.warn("%s was disconnected: %s", address, *end.args)
            raise
        finally:
            if client:
                await close(client)

    async def open(self, accepted: socket.socket) -> Stream:
        """The connection's stream, after the TLS handshake, if any."""
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

    async def admit(self, logon: Mapping[int, str], address: Address) -> Admission:
        """Judge a Logon in a thread that may wait for the database.

        Raises:
            LogonRefused
        """
        if self.unverified >= settings.FIX_SESSIONS + UNVERIFIED:
            raise LogonRefused(BUSY)
        self.unverified += 1
        try:
            return await self.in_thread(
                self.admissions.admit, logon, address, timezone.now()
            )
        except Error as error:
            self.log.warn("A Logon could not be checked: %s", error)
            raise LogonRefused(NO_DATABASE) from None
        finally:
            self.unverified -= 1

    async def take_lease(self, admission: Admission, address: Address) -> None:
        """Take the CompID, which another acceptor of the group may have.

        Raises:
            LogonRefused: the other acceptor keeps it.
        """
        if self.leases.is_alone:
            return
        try:
            admission.lease = await self.claims.take(admission.comp_id, address)
        except Error as error:
            self.log.warn("A lease could not be taken: %s", error)
            raise LogonRefused(NO_DATABASE) from None

    # The thread of the leases calls these three.

    def on_told(self, comp_id: str) -> None:
        """A lease was wanted, refused or returned: its waiters look again."""
        if comp_id in self.claims.waiting:
            self.loop.call_soon_threadsafe(self.claims.news.set)

    def on_wanted(self, comp_id: str, generation: int) -> None:
        """Another acceptor has received a Logon of a CompID that is logged on here."""
        self.loop.call_soon_threadsafe(self.judge, comp_id, generation)

    def on_lost(self, comp_id: str, text: str) -> None:
        """Another acceptor has the lease of a CompID."""
        self.loop.call_soon_threadsafe(self.give_way, comp_id, text)

    def give_way(self, comp_id: str, text: str) -> None:
        if relay := self.relays.by_comp_id.get(comp_id):
            relay.give_way(text)

    def judge(self, comp_id: str, generation: int) -> None:
        task = self.loop.create_task(self.refuse_or_give_way(comp_id, generation))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def refuse_or_give_way(self, comp_id: str, generation: int) -> None:
        """If the session here lives, refuse the newer Logon; otherwise give way."""
        relay = self.relays.by_comp_id.get(comp_id)
        if relay is None:
            # The next renewal returns its lease.
            return
        if await self.relays.is_alive(relay):
            try:
                await self.in_thread(self.leases.refuse, comp_id, generation)
            except Error as error:
                self.log.warn("A Logon could not be refused: %s", error)
            return
        relay.give_way(LOGGED_ON_THERE)
        self.leases.release(comp_id, relay.admission.lease)
        await asyncio.to_thread(self.leases.tell, comp_id)

    async def watch_leases(self) -> None:
        """Give up leases in time, even while threads wait for the database."""
        while True:
            self.leases.give_up_what_ends()
            await asyncio.sleep(LEASE_LOOK_SECONDS)

    async def in_thread(self, call: Callable[..., T], *arguments: object) -> T:
        """The result of a call that waits for the database."""

        def called() -> T:
            try:
                return call(*arguments)
            finally:
                # Logons are rare. The next one must not get a dead database connection.
                connection.close()

        return await self.loop.run_in_executor(
            self.verifiers, copy_context().run, called
        )


def on_watch_end(task: asyncio.Task[None]) -> None:
    """Log the failure that ended a watch."""
    if not task.cancelled() and (error := task.exception()):
        logger.error("Leases of CompIDs are no longer watched", exc_info=error)


async def close(client: Stream) -> None:
    """End a connection; written bytes have CLOSE_SECONDS to be sent."""
    client.writer.close()
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await client.writer.wait_closed()
    except TimeoutError as error:
        drop_tracebacks(error)
        # Only here: Python 3.11.2 cannot abort TLS on a connection that the partner has
        # ended.
        client.writer.transport.abort()
    except OSError as error:
        drop_tracebacks(error)
    # Nothing may have caught the error that ended it.
    drop_tracebacks(client.reader.exception())

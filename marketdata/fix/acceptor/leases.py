"""One CompID is live on one acceptor of a group: leases by the database's clock.

An acceptor without a name, FIX_ACCEPTOR, is alone and needs none. Through Redis,
acceptors notify each other of leases that they want or gave back. This is only a hint:
without it, they look again after a second.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db import Error, connection
from redis.exceptions import RedisError

from partnerapi.core.channels import ChannelListener
from partnerapi.core.database import fetch
from partnerapi.core.outages import Outage
from partnerapi.core.redis import call, database

logger = logging.getLogger(__name__)

LEASE_SECONDS, RENEW_SECONDS, MARGIN_SECONDS = 3.0, 1.0, 0.5
"""How long a lease lasts, how often it is renewed, and how long before its end an
acceptor that could not renew it gives it up."""
LOGGED_ON_THERE = (
    "logged on elsewhere: another acceptor received a second Logon of this CompID, "
    "and this session did not answer a TestRequest"
)
LOST = (
    "This acceptor cannot prove that your CompID is logged on only here; log on to "
    "the other acceptor."
)


def channel() -> str:
    """The channel of wanted and returned leases; a message is the CompID."""
    return f"marketdata:leases:{database()}"


class Wanted(NamedTuple):
    """The lease for which this address's Logon waits; generation 0: unknown."""

    generation: int
    address: str


class Holder(NamedTuple):
    """A lease's end, the newest Logon it refused, and the session's address."""

    seconds_left: float
    refused: int
    address: str | None
    since: datetime | None


class Settled(NamedTuple):
    """The generations of all wanted leases, and the holders of those not free."""

    generations: dict[str, int]
    holders: dict[str, Holder]


class Leases:
    """The leases of this acceptor; `end` logs a CompID's session out with a reason.

    `on_lost` does so if another acceptor has the lease. It may wait until the Logout
    was sent. `on_told` receives CompIDs that were wanted or given back. `on_wanted`
    receives a CompID whose lease is here, with the generation that wants it.
    """

    def __init__(self, end: Callable[[str, str], object]) -> None:
        self.acceptor = settings.FIX_ACCEPTOR
        self.end = self.on_lost = end
        self.on_wanted: Callable[[str, int], object] = lambda comp_id, generation: None
        self.on_told: Callable[[str], object] = lambda comp_id: None
        self.held: dict[str, int] = {}
        self.left: dict[str, int] = {}
        # Generations of our Logons that still wait for their lease.
        self.claimed: dict[str, int] = {}
        # The newest generation for which other acceptors requested each lease.
        self.wanted: dict[str, int] = {}
        self.renewed_at = monotonic()
        self.renew_at = 0.0
        self.lock = Lock()
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): leases of CompIDs are not renewed",
            back="PostgreSQL answers again: leases of CompIDs are renewed",
        )
        self.stopping = Event()
        silence = Outage(
            logger.getChild("told"),
            away="Redis does not answer (%s): taking over a CompID takes a second",
            back="Redis answers again: acceptors notify each other of CompIDs",
        )
        self.told = ChannelListener(channel(), self.stopping, silence)
        self.thread = Thread(target=self.run, name="fix-leases", daemon=True)

    @property
    def is_alone(self) -> bool:
        return not self.acceptor

    @property
    def is_sound(self) -> bool:
        """Whether leases are renewed, if there are any."""
        return self.is_alone or self.thread.is_alive()

    def start(self) -> None:
        if not self.is_alone:
            self.thread.start()

    def stop(self) -> None:
        """Give the leases back."""
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()

    # The methods below may wait for the database.

    def settle(self, wanted: Mapping[str, Wanted]) -> Settled:
        """Claim CompIDs of Logons that were verified here, and take the free ones.

        A lease is free if no other acceptor has it and no newer Logon has come.
        """
        new = [comp_id for comp_id, one in wanted.items() if not one.generation]
        generations = {comp_id: one.generation for comp_id, one in wanted.items()}
        if new:
            claimed = dict(fetch(CLAIM, [self.acceptor, new], tuple))
            self.claimed |= claimed
            generations |= claimed
        rows = [(c, generations[c], one.address) for c, one in wanted.items()]
        columns = [list(column) for column in zip(*rows, strict=True)]
        taken = {row[0] for row in fetch(TAKE, [*columns, self.acceptor], tuple)}
        with self.lock:
            self.held |= {comp_id: generations[comp_id] for comp_id in taken}
        if left := [comp_id for comp_id in wanted if comp_id not in taken]:
            self.tell(*(comp_id for comp_id in left if comp_id in new))
        holders = {row[0]: Holder(*row[1:]) for row in fetch(HOLDERS, [left], tuple)}
        return Settled(generations, holders)

    def refuse(self, comp_id: str, generation: int) -> None:
        """Report that the session here lives; Logons up to this one do not get it."""
        fetch(REFUSE, [generation, comp_id, self.acceptor], tuple)
        self.tell(comp_id)

    def tell(self, *comp_ids: str) -> None:
        with suppress(RedisError):
            for comp_id in comp_ids:
                call("PUBLISH", channel(), comp_id)

    # The methods below never wait.

    def forget(self, comp_id: str, generation: int) -> None:
        """A Logon has got its lease, or waits for it no longer."""
        if self.claimed.get(comp_id) == generation:
            del self.claimed[comp_id]

    def release(self, comp_id: str, generation: int) -> None:
        """Return a lease with the next renewal, unless it was taken again."""
        with self.lock:
            if self.held.get(comp_id) == generation:
                self.left[comp_id] = self.held.pop(comp_id)

    def give_up_what_ends(self) -> None:
        """End all sessions if their leases could not be renewed in time."""
        if monotonic() - self.renewed_at < LEASE_SECONDS - MARGIN_SECONDS:
            return
        for comp_id in list(self.held):
            self.end(comp_id, LOST)

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                told = self.told.wait_for_messages(self.renew_at - monotonic())
                for comp_id in told:
                    self.on_told(comp_id)
                if (
                    told & (self.held.keys() | self.left.keys())
                    or monotonic() >= self.renew_at
                ):
                    self.attempt()
            with self.lock:
                self.left |= self.held
                self.held = {}
            self.attempt()
        finally:
            self.told.close()
            connection.close()

    def attempt(self) -> None:
        self.renew_at = monotonic() + RENEW_SECONDS
        connection.close_if_unusable_or_obsolete()
        try:
            self.renew()
        except Error as error:
            connection.close()
            self.outage.begin(error)
        else:
            self.outage.end()

    def renew(self) -> None:
        """Renew all leases in one statement; end sessions that others now have."""
        at = monotonic()
        with self.lock:
            held, left = dict(self.held), dict(self.left)
        if held:
            columns = [list(held), list(held.values())]
            kept = dict(fetch(RENEW, [*columns, self.acceptor], tuple))
            self.renewed_at = at
            for comp_id in held.keys() - kept.keys():
                if self.held.get(comp_id) != held[comp_id]:
                    # A Logon of our own has it now.
                    continue
                self.on_lost(comp_id, LOGGED_ON_THERE)
                self.release(comp_id, held[comp_id])
                left[comp_id] = held[comp_id]
            for comp_id, newest in kept.items():
                # A Logon of our own takes over by itself.
                known = max(held[comp_id], self.wanted.get(comp_id, 0))
                if newest > known and newest != self.claimed.get(comp_id):
                    self.wanted[comp_id] = newest
                    self.on_wanted(comp_id, newest)
        self.renewed_at = at
        if left:
            fetch(RELEASE, [list(left), list(left.values()), self.acceptor], tuple)
            self.tell(*left)
            with self.lock:
                self.left = {
                    comp_id: generation
                    for comp_id, generation in self.left.items()
                    if left.get(comp_id) != generation
                }


# Each statement locks its rows in the order of the sessions, so two statements never
# wait for each other. A lease without a holder has already ended.
CLAIM = """
    INSERT INTO marketdata_fixlease AS lease
        (session_id, acceptor, generation, taken, until)
    SELECT id, %s, 1, 0, clock_timestamp() FROM marketdata_fixsession
    WHERE comp_id = ANY (%s)
    ORDER BY id
    ON CONFLICT (session_id) DO UPDATE SET generation = lease.generation + 1
    RETURNING (SELECT comp_id FROM marketdata_fixsession
        WHERE id = lease.session_id), generation
"""
TAKE = f"""
    WITH wanted AS MATERIALIZED (
        SELECT session.comp_id, lease.session_id, given.generation, given.address
        FROM marketdata_fixlease lease
        JOIN marketdata_fixsession session ON session.id = lease.session_id
        JOIN unnest(%s::text[], %s::bigint[], %s::inet[])
            AS given (comp_id, generation, address) ON given.comp_id = session.comp_id
        ORDER BY lease.session_id
        FOR NO KEY UPDATE OF lease
    )
    UPDATE marketdata_fixlease lease SET acceptor = ours.name,
        taken = lease.generation, address = wanted.address, since = clock_timestamp(),
        until = clock_timestamp() + interval '{LEASE_SECONDS} s'
    FROM wanted, (SELECT %s::text AS name) AS ours
    WHERE lease.session_id = wanted.session_id
        AND lease.generation = wanted.generation
        AND (lease.acceptor = ours.name OR lease.until <= clock_timestamp())
    RETURNING wanted.comp_id
"""
HOLDERS = """
    SELECT session.comp_id,
        EXTRACT(epoch FROM lease.until - clock_timestamp())::float8,
        lease.refused, host(lease.address), lease.since
    FROM marketdata_fixlease lease
    JOIN marketdata_fixsession session ON session.id = lease.session_id
    WHERE session.comp_id = ANY (%s)
"""
REFUSE = """
    UPDATE marketdata_fixlease lease SET refused = %s
    FROM marketdata_fixsession session
    WHERE session.id = lease.session_id AND session.comp_id = %s
        AND lease.acceptor = %s
    RETURNING session.comp_id
"""
OURS = """
    WITH ours AS MATERIALIZED (
        SELECT session.comp_id, lease.session_id
        FROM marketdata_fixlease lease
        JOIN marketdata_fixsession session ON session.id = lease.session_id
        JOIN unnest(%s::text[], %s::bigint[]) AS given (comp_id, generation)
            ON given.comp_id = session.comp_id
        WHERE lease.acceptor = %s AND lease.taken = given.generation
        ORDER BY lease.session_id
        FOR NO KEY UPDATE OF lease
    )
"""
RENEW = f"""
    {OURS}
    UPDATE marketdata_fixlease lease
    SET until = clock_timestamp() + interval '{LEASE_SECONDS} s'
    FROM ours WHERE lease.session_id = ours.session_id
    RETURNING ours.comp_id, lease.generation
"""
RELEASE = f"""
    {OURS}
    UPDATE marketdata_fixlease lease SET until = clock_timestamp()
    FROM ours WHERE lease.session_id = ours.session_id
    RETURNING ours.comp_id
"""

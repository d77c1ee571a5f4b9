"""One CompID is live on one acceptor of a group: leases by the database's clock.

An acceptor without a name, FIX_ACCEPTOR, is alone and needs none. Acceptors tell each
other by way of Redis what they want and what they gave back: a hint, without which they
look again after a second.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic

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
    "logged on elsewhere: a newer Logon of this CompID has come to another acceptor"
)
LOST = (
    "This acceptor can not prove that your CompID is logged on here only; log on to "
    "the other one."
)


def channel() -> str:
    """The channel of leases that are wanted or given back; a message is the CompID."""
    return f"marketdata:leases:{database()}"


class Leases:
    """Those of this acceptor; `end` logs a CompID's session out with a reason.

    `give_way` does so where another acceptor waits for the CompID, and may wait until
    the Logout was sent. `on_told` hears of CompIDs that were wanted or given back.
    """

    def __init__(self, end: Callable[[str, str], object]) -> None:
        self.acceptor = settings.FIX_ACCEPTOR
        self.end = self.give_way = end
        self.on_told: Callable[[str], object] = lambda comp_id: None
        self.held: dict[str, int] = {}
        self.left: dict[str, int] = {}
        # Generations of Logons of ours that have not got their lease yet.
        self.claimed: dict[str, int] = {}
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
            away="Redis does not answer (%s): who takes a CompID over waits a second",
            back="Redis answers again: acceptors tell each other of CompIDs",
        )
        self.told = ChannelListener(channel(), self.stopping, silence)
        self.thread = Thread(target=self.run, name="fix-leases", daemon=True)

    @property
    def is_alone(self) -> bool:
        return not self.acceptor

    def start(self) -> None:
        if not self.is_alone:
            self.thread.start()

    def stop(self) -> None:
        """Give the leases back."""
        self.stopping.set()
        if self.thread.is_alive():
            self.thread.join()

    # For threads that may wait for the database.

    def claim(self, comp_id: str) -> int:
        """Say that a Logon was proven here; the generation that it has."""
        [(generation,)] = fetch(CLAIM, [self.acceptor, comp_id], tuple)
        self.claimed[comp_id] = int(generation)
        self.tell(comp_id)
        return int(generation)

    def forget(self, comp_id: str, generation: int) -> None:
        """A Logon has got its lease, or waits for it no longer."""
        if self.claimed.get(comp_id) == generation:
            del self.claimed[comp_id]

    def take(self, comp_id: str, generation: int) -> bool:
        """Take the lease, if it is free, is ours, and no newer Logon has come."""
        taken = fetch(TAKE, [self.acceptor, comp_id, generation, self.acceptor], tuple)
        if taken:
            with self.lock:
                self.held[comp_id] = generation
        return bool(taken)

    def seconds_left(self, comp_id: str) -> float:
        """Until a lease that nobody renews would end."""
        [(seconds,)] = fetch(SECONDS_LEFT, [comp_id], tuple)
        return float(seconds)

    def tell(self, *comp_ids: str) -> None:
        with suppress(RedisError):
            for comp_id in comp_ids:
                call("PUBLISH", channel(), comp_id)

    # For threads that wait for nothing.

    def release(self, comp_id: str, generation: int) -> None:
        """Give a lease back with the next renewal, unless it was taken anew."""
        with self.lock:
            if self.held.get(comp_id) == generation:
                self.left[comp_id] = self.held.pop(comp_id)

    def give_up_what_ends(self) -> None:
        """End all sessions where their leases could not be renewed in time."""
        if monotonic() - self.renewed_at < LEASE_SECONDS - MARGIN_SECONDS:
            return
        for comp_id in list(self.held):
            self.end(comp_id, LOST)

    def run(self) -> None:
        try:
            while not self.stopping.is_set():
                told = self.told.heard(self.renew_at - monotonic())
                for comp_id in told:
                    self.on_told(comp_id)
                if told & self.held.keys() or monotonic() >= self.renew_at:
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
        """Renew all leases in one statement; end the sessions that others have now."""
        at = monotonic()
        with self.lock:
            held, left = dict(self.held), dict(self.left)
        if held:
            columns = [list(held), list(held.values())]
            kept = {row[0] for row in fetch(RENEW, [*columns, self.acceptor], tuple)}
            self.renewed_at = at
            for comp_id in held.keys() - kept:
                newest = self.claimed.get(comp_id, self.held.get(comp_id))
                if newest != held[comp_id]:
                    # A Logon of our own follows, and takes over by itself.
                    continue
                self.give_way(comp_id, LOGGED_ON_THERE)
                self.release(comp_id, held[comp_id])
                left[comp_id] = held[comp_id]
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


# A lease that nobody had is over already.
CLAIM = """
    INSERT INTO marketdata_fixlease AS lease
        (session_id, acceptor, generation, taken, until)
    SELECT id, %s, 1, 0, clock_timestamp() FROM marketdata_fixsession
    WHERE comp_id = %s
    ON CONFLICT (session_id) DO UPDATE SET generation = lease.generation + 1
    RETURNING generation
"""
TAKE = f"""
    UPDATE marketdata_fixlease lease SET acceptor = %s, taken = lease.generation,
        until = clock_timestamp() + interval '{LEASE_SECONDS} s'
    FROM marketdata_fixsession session
    WHERE session.id = lease.session_id AND session.comp_id = %s
        AND lease.generation = %s
        AND (lease.acceptor = %s OR lease.until <= clock_timestamp())
    RETURNING session.comp_id
"""
SECONDS_LEFT = """
    SELECT EXTRACT(epoch FROM lease.until - clock_timestamp())
    FROM marketdata_fixlease lease
    JOIN marketdata_fixsession session ON session.id = lease.session_id
    WHERE session.comp_id = %s
"""
OF_OURS = """
    FROM marketdata_fixsession session
    JOIN unnest(%s::text[], %s::bigint[]) AS ours (comp_id, generation)
        ON ours.comp_id = session.comp_id
    WHERE session.id = lease.session_id AND lease.acceptor = %s
        AND lease.taken = ours.generation
"""
RENEW = f"""
    UPDATE marketdata_fixlease lease
    SET until = clock_timestamp() + interval '{LEASE_SECONDS} s'
    {OF_OURS} AND lease.generation = ours.generation
    RETURNING session.comp_id
"""
RELEASE = f"""
    UPDATE marketdata_fixlease lease SET until = clock_timestamp()
    {OF_OURS}
    RETURNING session.comp_id
"""

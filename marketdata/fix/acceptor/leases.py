"""One CompID is live on one acceptor of a group: leases by the database's clock.

An acceptor without a name, FIX_ACCEPTOR, is alone and needs none.
"""

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from time import monotonic

from django.conf import settings
from django.db import Error, connection

from partnerapi.core.database import fetch
from partnerapi.core.outages import Outage

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


class Leases:
    """Those of this acceptor; `end` logs a CompID's session out with a reason."""

    def __init__(self, end: Callable[[str, str], object]) -> None:
        self.acceptor = settings.FIX_ACCEPTOR
        self.end = end
        self.held: dict[str, int] = {}
        self.left: dict[str, int] = {}
        self.renewed_at = monotonic()
        self.lock = Lock()
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): leases of CompIDs are not renewed",
            back="PostgreSQL answers again: leases of CompIDs are renewed",
        )
        self.stopping = Event()
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
        return int(generation)

    def take(self, comp_id: str, generation: int) -> bool:
        """Take the lease, if it is free, is ours, and no newer Logon has come."""
        taken = fetch(TAKE, [self.acceptor, comp_id, generation, self.acceptor], tuple)
        if taken:
            with self.lock:
                self.held[comp_id] = generation
        return bool(taken)

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
            while not self.stopping.wait(RENEW_SECONDS):
                self.attempt()
            with self.lock:
                self.left |= self.held
                self.held = {}
            self.attempt()
        finally:
            connection.close()

    def attempt(self) -> None:
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
            for comp_id in held.keys() - kept:
                self.end(comp_id, LOGGED_ON_THERE)
                self.release(comp_id, held[comp_id])
                left[comp_id] = held[comp_id]
        self.renewed_at = at
        if left:
            fetch(RELEASE, [list(left), list(left.values()), self.acceptor], tuple)
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

"""The connections to PostgreSQL that the threads of a web process share.

A request borrows one for its first statement and gives it back at its end, and waits
for one until its deadline; in whose turn, the web server decides
(`operations/turns.py`). No loan outlasts its request's deadline: a watchdog asks the
server to end the statement and then ends the connection from here, because a server
that is stopped or out of reach ends nothing. While the server is away only a
prober waits for it.
"""

import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from logging import Logger, getLogger
from math import inf
from time import monotonic, sleep
from typing import Any

import psycopg
from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    connection,
    connections,
)
from psycopg import capabilities
from psycopg.errors import ConnectionTimeout
from psycopg.pq import TransactionStatus

from partnerapi.core.outages import Outage
from partnerapi.core.postgresql.faults import Busy

CANCEL_SECONDS = 0.4
"""The server has so long to end a statement before the connection is ended."""
WATCH_SECONDS = 0.1
PROBE_SECONDS = 0.25
DEFAULT_SECONDS = 60.0
"""The longest loan to a caller without a deadline."""

logger = getLogger(__name__)

Raw = psycopg.Connection[Any]
Connect = Callable[[], Raw]

own = threading.local()


@contextmanager
def until(due: float) -> Iterator[None]:
    """What this thread borrows is due at a time of `time.monotonic`."""
    own.deadline, own.backend = due, None
    try:
        yield
    finally:
        del own.deadline


def deadline() -> float:
    """When what this thread borrows is due, a time of `time.monotonic`."""
    due: float = getattr(own, "deadline", monotonic() + DEFAULT_SECONDS)
    return due


def check_due(due: float) -> float:
    """Seconds that a request that is due then may still wait for a connection.

    Raises:
        Busy: none.
    """
    left = due - monotonic()
    if left <= 0:
        # Commands load this module, and do without prometheus_client.
        from partnerapi.core import metrics

        metrics.CONNECTION_LACKED.inc()
        raise Busy("No connection became free before the request's deadline.")
    return left


def backend() -> int | None:
    """The server's process that this thread borrowed last before its deadline.

    In pg_stat_activity and in the server's log it is the pid. None: nothing was lent.
    """
    return getattr(own, "backend", None)


def answered_by(pid: int | None) -> None:
    """Note the server's process through which another thread answered this request."""
    own.backend = pid


def is_open(raw: Raw) -> bool:
    """Whether statements can be sent, as far as is known without a query.

    A healthy server sends nothing unasked: unread data means the end of the connection,
    or a notice.
    """
    if raw.closed or raw.broken:
        return False
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN | select.POLLERR)
    return not poll.poll(0)


class Loan:
    """A connection that a request has borrowed."""

    def __init__(self, lender: "Lender", raw: Raw) -> None:
        self.lender = lender
        self.raw = raw
        self.due = deadline()
        self.is_called_in = False
        own.backend = raw.pgconn.backend_pid
        # A file's number may be another file's by the time that the loan is due.
        self.socket = socket.socket(fileno=os.dup(raw.fileno()))

    def end(self) -> None:
        """Wake up who waits for the server; the connection is of no use any more."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


class Lender:
    """Lends at most `permits` connections at a time. Thread-safe.

    `name` is the server's name in the log. `has_ended`: the last attempt found no
    server, so no transaction is known to continue there.
    `served_at`: when a loan last came back in order, a time of `time.monotonic`.
    """

    def __init__(
        self, permits: int, name: str = "PostgreSQL", logger: Logger = logger
    ) -> None:
        self.permits = permits
        self.name = name
        self.logger = logger
        # A process that forks leaves its threads behind, and what they would have done.
        os.register_at_fork(after_in_child=self.begin)
        self.begin()

    def begin(self) -> None:
        """Know of no connection, no loan and no outage."""
        self.taken = 0
        # First come, first served.
        self.waiting: deque[object] = deque()
        self.served_at = -inf
        self.changed = threading.Condition()
        self.shelf: list[Raw] = []
        self.loans: set[Loan] = set()
        self.watchdog: threading.Thread | None = None
        self.has_ended = False
        self.outage = Outage(
            self.logger,
            away=f"{self.name} does not answer (%s): requests that need it are "
            "refused with 503; check that it runs and can be reached",
            back=f"{self.name} answers again",
        )

    def borrow(self, connect: Connect) -> Loan:
        """A connection: one that was given back, or a new one.

        Raises:
            Busy: none came back before the deadline.
            OperationalError: the server is away, or has no connection left.
        """
        self.connect = connect
        self.take_permit()
        try:
            loan = Loan(self, self.kept() or self.made())
        except BaseException:
            self.give_permit()
            raise
        with self.changed:
            self.loans.add(loan)
            if self.watchdog is None:
                self.watchdog = threading.Thread(target=self.watch, daemon=True)
                self.watchdog.start()
        return loan

    def give_back(self, loan: Loan) -> None:
        with self.changed:
            self.loans.discard(loan)
            loan.socket.close()
        # What ends the statement of a loan may come late, and must find no other's.
        is_idle = loan.raw.info.transaction_status is TransactionStatus.IDLE
        if is_idle and is_open(loan.raw) and not loan.is_called_in:
            with self.changed:
                self.shelf.append(loan.raw)
                self.served_at = monotonic()
        else:
            loan.raw.close()
        self.give_permit()

    def close_kept(self) -> None:
        """Close what no one has borrowed: processes that fork must share none."""
        with self.changed:
            kept, self.shelf = self.shelf, []
        for raw in kept:
            raw.close()

    def take_permit(self) -> None:
        me, due = object(), deadline()
        with self.changed:
            self.waiting.append(me)
            try:
                while True:
                    if self.outage.is_on:
                        raise OperationalError(f"{self.name} does not answer.")
                    if self.taken < self.permits and self.waiting[0] is me:
                        break
                    self.changed.wait(check_due(due))
            finally:
                self.waiting.remove(me)
                self.changed.notify_all()
            self.taken += 1

    def give_permit(self) -> None:
        with self.changed:
            self.taken -= 1
            self.changed.notify_all()

    def kept(self) -> Raw | None:
        """The connection that was given back last, if it is still of use."""
        while True:
            with self.changed:
                if not self.shelf:
                    return None
                raw = self.shelf.pop()
            if is_open(raw):
                return raw
            raw.close()

    def made(self) -> Raw:
        try:
            return self.connect()
        except psycopg.OperationalError as error:
            # Where other connections live, the server only has none left.
            if not self.loans and not self.shelf:
                self.begin_outage(error)
            raise

    def begin_outage(self, error: Exception) -> None:
        with self.changed:
            if self.outage.is_on:
                return
            self.outage.begin(error)
            # Threads that wait for a connection will not get one.
            self.changed.notify_all()
        threading.Thread(target=self.probe, daemon=True).start()

    def probe(self) -> None:
        """Ask until the server answers."""
        while True:
            try:
                with self.connect() as raw:
                    raw.execute("SELECT 1")
                break
            except psycopg.Error as error:
                self.has_ended = not isinstance(error, ConnectionTimeout)
                sleep(PROBE_SECONDS)
        self.has_ended = False
        self.outage.end()

    def watch(self) -> None:
        """Call in what is due, for as long as the process lives."""
        while True:
            sleep(WATCH_SECONDS)
            with self.changed:
                due = [loan for loan in self.loans if monotonic() >= loan.due]
            for loan in due:
                self.call_in(loan)

    def call_in(self, loan: Loan) -> None:
        """End the statement of a loan, or else the connection."""
        with self.changed:
            if loan not in self.loans:
                return
            is_first = not loan.is_called_in
            loan.is_called_in = True
            loan.due = monotonic() + CANCEL_SECONDS
        # Other versions of libpq would wait for the server as long as it likes.
        if is_first and not self.outage.is_on and capabilities.has_cancel_safe():
            try:
                loan.raw.cancel_safe(timeout=CANCEL_SECONDS)
            except psycopg.Error as error:
                self.begin_outage(error)
            else:
                return
        with self.changed:
            if loan in self.loans:
                loan.end()


lender: Lender | None = None
standby: Lender | None = None
observer: Lender | None = None
"""Lends one connection to `/readyz`, which waits for no request."""
kill_switch: Lender | None = None
"""Lends one to those who stop their orders, who wait for no others."""
REPLICA = "replica"
"""In DATABASES the standby of REPLICA_URL."""


def rest() -> None:
    """Lend this thread's connection to others until its next statement.

    Does nothing where it is not lent, or a transaction is open.
    """
    is_lent = getattr(connection, "loan", None) is not None
    if is_lent and not connection.in_atomic_block:
        connection.close()


@contextmanager
def observing() -> Iterator[None]:
    """Run this thread's statements without waiting for the requests' connections."""
    own.lender = observer
    try:
        yield
    finally:
        connection.close()
        own.lender = None


@contextmanager
def stopping_orders() -> Iterator[None]:
    """Likewise, in a request, with which the loan ends."""
    own.lender = kill_switch
    try:
        yield
    finally:
        own.lender = None


def lender_of_thread() -> Lender | None:
    """The lender of this thread's connection to the primary; None: it makes its own."""
    return getattr(own, "lender", None) or lender


def is_away() -> bool:
    """Whether the primary is known to be away, by requests or by `/readyz`."""
    lenders = (lender, observer, kill_switch)
    return any(one and one.outage.is_on for one in lenders)


def served_within(seconds: float) -> bool:
    """Whether a request of this process was answered from the database lately."""
    times = [one.served_at for one in (lender, standby) if one]
    return monotonic() - max(times, default=-inf) < seconds


def discard() -> None:
    """Close this thread's connection on its return to the lender."""
    loan = getattr(connection, "loan", None)
    if loan is not None:
        loan.is_called_in = True


def reads_replica() -> bool:
    """Whether this thread's statements go to the standby."""
    return getattr(own, "reads_replica", False)


@contextmanager
def reading_replica() -> Iterator[None]:
    """Send this thread's statements to the standby; no transaction is open."""
    connection.close()
    own.reads_replica = True
    try:
        yield
    finally:
        connection.close()
        own.reads_replica = False


def lend(permits: int, changes: dict[str, Any]) -> Lender:
    """Share `permits` connections among the threads of this process from now on.

    They use DATABASES with these changes. The standby, if there is one, gets as many.
    `/readyz` and those who stop their orders have a connection each.
    """
    global lender, standby, observer, kill_switch
    connections.settings[DEFAULT_DB_ALIAS].update(changes)
    lender = Lender(permits)
    # By its logger's name an outage is counted.
    observer = Lender(1, logger=logger.getChild("observer"))
    kill_switch = Lender(1, logger=logger.getChild("kill_switch"))
    if REPLICA in connections.settings:
        its_logger = logger.getChild("standby")
        standby = Lender(permits, "The standby of REPLICA_URL", its_logger)
    return lender

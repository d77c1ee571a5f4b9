"""An engine on loopback without the front, for tests; clients redeem tickets."""

import contextlib
import signal
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from django.conf import settings

from marketdata.feed import Feed
from marketdata.fix.client import Client
from marketdata.fix.logon import Admission, Admissions
from tests.system import free_port

# Importing QuickFIX makes SIGINT end the process at once.
interrupt = signal.getsignal(signal.SIGINT)
from marketdata.fix.engine import Engine  # noqa: E402

signal.signal(signal.SIGINT, interrupt)

COMP_IDS = ["PARTNER001", "PARTNER002", "PARTNER003"]
PATIENCE_SECONDS = 10.0


class Bench:
    """A running engine, and clients for its CompIDs."""

    def __init__(self, feed: Feed) -> None:
        self.admissions = Admissions()
        self.engine = Engine(feed, self.admissions, COMP_IDS, free_port())

    def admit(self, comp_id: str, granted: Collection[str] = ()) -> Admission:
        """What the front would let pass."""
        admission = Admission(
            comp_id, "partner", "key", "login", frozenset(granted), heartbeat="30"
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        self.admissions.waiting[admission.ticket] = deadline, admission
        return admission

    def client(
        self, comp_id: str = "PARTNER001", granted: Collection[str] = (), **options: Any
    ) -> Client:
        """A client with a ticket, not logged on yet."""
        return Client(
            host="127.0.0.1",
            port=self.engine.port,
            sender=comp_id,
            target=settings.FIX_COMP_ID,
            key=self.admit(comp_id, granted).ticket,
            **options,
        )


@contextlib.contextmanager
def running_engine() -> Iterator[Bench]:
    """An engine over all books of the database."""
    feed = Feed()
    feed.start()
    bench = Bench(feed)
    bench.engine.start()
    try:
        yield bench
    finally:
        bench.engine.stop("The test is over.")
        feed.stop()


def eventually(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)

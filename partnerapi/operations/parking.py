"""Requests that wait for events: how many may, and when they are looked for.

They wait without a thread. A look reads the numbers of their partners' last events, in
one statement: after each message that partners have new events, each second without
one, and after each request that begins to wait, so that none waits for an event that
came before it. Looks are LOOK_SECONDS apart at least.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic, sleep

from partnerapi.gateway.requests import Wait
from partnerapi.operations.web_connection import Connection

MOST = 1_500
"""Requests that wait in a process, or three quarters of its connections."""
MOST_OF_KEY = 20
MOST_OF_ADDRESS = 100
LOOK_SECONDS = 0.05
IDLE_LOOK_SECONDS = 1.0
QUERY_SECONDS = 5.0
"""The longest that a look may use a connection to the database."""
LINGER_SECONDS = 30.0
"""For so long messages are received after the last request has ceased to wait."""

logger = logging.getLogger(__name__)


class Parking:
    """`admit` is for any thread, the rest for the poller's.

    `defer` has the poller call a function; `wake` is called there with each connection
    whose request has to be judged anew.
    """

    def __init__(
        self,
        connections: int,
        defer: Callable[..., None],
        wake: Callable[[Connection], None],
    ) -> None:
        self.most = min(MOST, connections * 3 // 4)
        self.defer = defer
        self.wake = wake
        self.parked: dict[Connection, Wait] = {}
        # Of those that are admitted, some are on their way to `keep`.
        self.admitted: Counter[str] = Counter()
        self.number = 0
        self.lock = threading.Lock()
        self.is_due = self.is_looking = False
        self.looked_at = self.used_at = 0.0
        self.looker: ThreadPoolExecutor | None = None
        self.stopping: threading.Event | None = None

    def admit(self, wait: Wait) -> bool:
        """Count a request among those that wait; False: there are too many."""
        with self.lock:
            if (
                self.number >= self.most
                or self.admitted[wait.key] >= MOST_OF_KEY
                or self.admitted[wait.address] >= MOST_OF_ADDRESS
            ):
                return False
            self.number += 1
            self.admitted.update((wait.key, wait.address))
            return True

    def keep(self, conn: Connection, wait: Wait) -> None:
        """Wake the connection of an admitted request when there is an event."""
        self.parked[conn] = wait
        self.is_due = True
        self.used_at = monotonic()
        if self.stopping is None:
            self.stopping = threading.Event()
            listening = threading.Thread(
                target=self.listen, args=(self.stopping,), daemon=True
            )
            listening.start()

    def release(self, conn: Connection) -> None:
        wait = self.parked.pop(conn)
        with self.lock:
            self.number -= 1
            self.admitted.subtract((wait.key, wait.address))
            for name in (wait.key, wait.address):
                if not self.admitted[name]:
                    del self.admitted[name]

    def most_seconds(self, timeout: float) -> float:
        """How long the poller may sleep, at most this timeout."""
        if self.is_due:
            return min(timeout, LOOK_SECONDS)
        return min(timeout, IDLE_LOOK_SECONDS / 4) if self.parked else timeout

    def look(self, now: float) -> None:
        """Look for events if that is due."""
        if not self.parked:
            self.is_due = False
            if self.stopping and now - self.used_at > LINGER_SECONDS:
                self.stopping.set()
                self.stopping = None
            return
        self.used_at = now
        passed = now - self.looked_at
        is_due = self.is_due and passed >= LOOK_SECONDS or passed >= IDLE_LOOK_SECONDS
        if not is_due or self.is_looking:
            return
        self.is_due, self.is_looking, self.looked_at = False, True, now
        self.looker = self.looker or ThreadPoolExecutor(1)
        partners = {wait.partner_id for wait in self.parked.values()}
        self.looker.submit(self.read, sorted(partners))

    def read(self, partners: list[str]) -> None:
        """Read the numbers of their last events; in a thread of its own."""
        from django.db import Error, connection

        from issuers.models.events import newest_events
        from partnerapi.core.postgresql.lending import until

        newest: dict[str, int] = {}
        try:
            with until(monotonic() + QUERY_SECONDS):
                newest = newest_events(partners)
        except Error as error:
            # Each request is judged at the end of its wait, and says what is wrong.
            logger.debug("no events could be looked for: %s", error)
        finally:
            connection.close()
            self.defer(self.wake_all, newest)

    def wake_all(self, newest: dict[str, int]) -> None:
        self.is_looking = False
        for conn, wait in list(self.parked.items()):
            if newest.get(wait.partner_id, 0) > wait.seen:
                self.wake(conn)

    def listen(self, stopping: threading.Event) -> None:
        """Have events looked for after each message; in a thread of its own."""
        from partnerapi.core import news
        from partnerapi.core.channels import ChannelListener
        from partnerapi.core.outages import Outage

        outage = Outage(
            logger,
            away="Redis does not answer (%s): events are looked for every second",
            back="Redis answers again: requests that wait for events are woken",
        )
        listener = ChannelListener(news.channel(), stopping, outage)
        try:
            while not stopping.is_set():
                if listener.wait_for_messages(IDLE_LOOK_SECONDS):
                    self.defer(self.note_message)
                    sleep(LOOK_SECONDS)
        finally:
            listener.close()

    def note_message(self) -> None:
        self.is_due = True

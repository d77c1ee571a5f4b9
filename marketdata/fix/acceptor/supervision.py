"""Ends sessions that the database forbids, and records the state of all."""

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from time import monotonic

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db import Error, connection
from django.db.models import OuterRef
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.keys.models import ApiKey
from accounts.keys.uses import uses
from issuers.callers import callers_of
from marketdata.fix.acceptor.liveness import leave_sign, take_sign_away
from marketdata.fix.acceptor.logon import (
    KEY_ENDED,
    SCOPE_REFUSED,
    SWITCHED_OFF,
    Admission,
)
from marketdata.fix.acceptor.sessions import Sessions, Status
from marketdata.models import FixSession
from partnerapi.core import metrics
from partnerapi.core.database import execute
from partnerapi.core.outages import Outage

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
WRITE_SECONDS = 5.0
REASON_LENGTH = 200

WRITE = """
UPDATE marketdata_fixsession AS kept SET
    connected_since = now.connected_since,
    last_heartbeat_at = COALESCE(now.last_heartbeat_at, kept.last_heartbeat_at),
    last_logout_reason = COALESCE(NULLIF(now.reason, ''), kept.last_logout_reason),
    messages_sent = kept.messages_sent + now.more
FROM unnest(%s::text[], %s::timestamptz[], %s::timestamptz[], %s::text[], %s::bigint[])
    AS now (comp_id, connected_since, last_heartbeat_at, reason, more)
WHERE kept.comp_id = now.comp_id
"""


class Supervisor:
    """A thread that ends sessions without a live key, and records every state."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.written: dict[str, Status] = {}
        self.write_at = 0.0
        # The number of sent messages that the metrics already include.
        self.counted = 0
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): FIX sessions are not supervised",
            back="PostgreSQL answers again: FIX sessions are supervised",
        )
        self.stopping = threading.Event()
        self.thread = threading.Thread(
            target=self.run, name="fix-supervisor", daemon=True
        )

    def start(self) -> None:
        """Clear the states left by a killed acceptor, then supervise.

        Raises:
            django.db.Error: PostgreSQL does not answer, or is not migrated.
        """
        if not settings.FIX_ACCEPTOR:
            FixSession.objects.filter(connected_since__isnull=False).update(
                connected_since=None
            )
        self.thread.start()

    def stop(self) -> None:
        """Write the last state, and end."""
        self.stopping.set()
        self.thread.join()

    def run(self) -> None:
        try:
            while not self.stopping.wait(LOOK_SECONDS):
                self.attempt()
            self.write_at = 0.0
            self.attempt()
            with suppress(RedisError):
                take_sign_away()
        finally:
            connection.close()

    def attempt(self) -> None:
        """Supervise once; without a database, sessions continue unchanged."""
        self.sessions.from_thread(self.sessions.look)
        connection.close_if_unusable_or_obsolete()
        try:
            live = [one.admission for one in list(self.sessions.live.values())]
            for comp_id, text in reasons_to_end(live, timezone.now()).items():
                self.sessions.from_thread(self.sessions.end, comp_id, text)
            if monotonic() >= self.write_at:
                self.write()
                uses.write()
                self.write_at = monotonic() + WRITE_SECONDS
                self.count()
                # Monitoring sees that signs are missing.
                with suppress(RedisError):
                    leave_sign(self.sessions.feed.lag, len(self.sessions.live))
        except Error as error:
            connection.close()
            self.outage.begin(error)
            return
        self.outage.end()

    def count(self) -> None:
        metrics.FIX_SESSIONS.set(len(self.sessions.live))
        metrics.FEED_LAG.set(self.sessions.feed.lag)
        sent = sum(status.messages_sent for status in self.written.values())
        metrics.FIX_MESSAGES.inc(sent - self.counted)
        self.counted = sent

    def write(self) -> None:
        """Write the states that changed, in one statement."""
        states = self.sessions.status()
        changed = {
            comp_id: status
            for comp_id, status in states.items()
            if status != self.written.get(comp_id)
        }
        if not changed:
            return
        rows = [
            (
                comp_id,
                status.connected_since,
                status.last_heartbeat_at,
                status.last_logout_reason[:REASON_LENGTH],
                status.messages_sent - self.messages_sent(comp_id),
            )
            for comp_id, status in changed.items()
        ]
        execute(WRITE, [list(column) for column in zip(*rows, strict=True)])
        self.written = states

    def messages_sent(self, comp_id: str) -> int:
        written = self.written.get(comp_id)
        return written.messages_sent if written else 0


def reasons_to_end(live: Sequence[Admission], at: datetime) -> dict[str, str]:
    """Why sessions must end, by CompID; updates the callers of the others.

    One statement, or none without a session.
    """
    if not live:
        return {}
    enabled = FixSession.objects.filter(partner=OuterRef("partner"), enabled=True)
    keys = (
        ApiKey.objects.live(at)
        .filter(pk__in={admission.key_id for admission in live})
        .annotate(enabled=ArraySubquery(enabled.values("comp_id")))
    )
    callers = {str(key.pk): (caller, key.enabled) for key, caller in callers_of(keys)}
    ended = {}
    for admission in live:
        if admission.key_id not in callers:
            ended[admission.comp_id] = KEY_ENDED
            continue
        caller, comp_ids = callers[admission.key_id]
        if admission.comp_id not in comp_ids:
            ended[admission.comp_id] = SWITCHED_OFF
        elif admission.scope not in caller.scopes:
            ended[admission.comp_id] = SCOPE_REFUSED.format(scope=admission.scope)
        else:
            admission.caller = caller
    return ended

"""The market clock: one process moves the markets, others wait for its lease.

The lease ends by the database's clock. It saves work and decides nothing: a market
moves under its book's lock, once it is due, so that two clocks at a time do no harm.
"""

import logging
from collections.abc import Callable
from threading import Event
from time import monotonic
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from issuers.offerings.deciding import close_due
from marketdata.trading import controls, market, parameters, phases, uncrossing
from marketdata.trading.models import Market, Phase
from partnerapi.core.lease import Lease
from partnerapi.core.metrics import CLOCK_LOOKS
from partnerapi.core.outages import Outage

logger = logging.getLogger(__name__)

LEASE_SECONDS, LOOK_SECONDS = 1.0, 0.2
"""How long a lease lasts, and how often a clock renews it and looks at the markets."""
INDICATION_SECONDS = 1.0
"""Between two indications of an auction."""


class Clock:
    """Moves markets that are due and ends their calls, ends orders whose time is over,
    fires timers, announces which orders new parameters end, and closes offerings."""

    def __init__(self) -> None:
        self.lease = Lease("trading_clocklease", LEASE_SECONDS)
        self.is_ours = False
        self.is_settling = False
        self.indicated: dict[UUID, float] = {}
        self.outage = Outage(
            logger,
            away="PostgreSQL does not answer (%s): markets do not change phase",
            back="PostgreSQL answers again: markets change phase",
        )

    def run(self, stopping: Event) -> None:
        """Look until `stopping` is set, then give the lease back."""
        while not stopping.wait(0 if self.is_settling else LOOK_SECONDS):
            self.is_settling = False
            self.attempt(self.look)
        self.attempt(self.lease.release)
        connection.close()

    def attempt(self, step: Callable[[], None]) -> None:
        connection.close_if_unusable_or_obsolete()
        try:
            step()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            self.outage.begin(error)
        else:
            self.outage.end()

    def look(self) -> None:
        """Take or renew the lease; with it, do what is due."""
        was_ours, self.is_ours = self.is_ours, self.lease.take()
        if self.is_ours != was_ours:
            logger.info(
                "This clock moves the markets"
                if self.is_ours
                else "Another clock moves the markets; this one waits"
            )
        if self.is_ours:
            phases.move_due()
            self.is_settling = phases.uncross_due()
            market.expire_due(timezone.now())
            controls.fire_due()
            parameters.announce_due(timezone.now())
            self.indicate()
            close_due(timezone.now())
            CLOCK_LOOKS.inc()

    def indicate(self) -> None:
        """Announce how calls would end now, once a second for each market."""
        calls = Market.objects.filter(phase=Phase.CALL)
        for token_id in calls.values_list("token", flat=True):
            now = monotonic()
            if self.indicated.get(token_id, 0.0) <= now - INDICATION_SECONDS:
                self.indicated[token_id] = now
                uncrossing.indicate(token_id)

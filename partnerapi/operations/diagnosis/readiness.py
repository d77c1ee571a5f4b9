"""Whether this web process can serve: looked at once a second at most, aside."""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from time import monotonic

from django.db import connection

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.lending import until
from partnerapi.operations.diagnosis import database, jobs, valkey
from partnerapi.operations.diagnosis.findings import Check, Finding, State, findings

CHECKS = (
    Check("valkey", valkey.valkey),
    Check("database", database.database),
    Check("migrations", database.migrations, needs_database=True),
    Check("jobs", jobs.jobs, needs_database=True),
    Check("acceptor", valkey.acceptors),
)
FRESH_SECONDS = 1.0
WAIT_SECONDS = 1.0
"""The longest that who asks waits for an answer, and a check for the database."""


def by_the_standby_where_needed() -> AbstractContextManager[None]:
    """Have checks ask the standby while the primary is known to be away."""
    primary = lending.lender
    if primary and primary.outage.is_on and lending.standby:
        return lending.reading_replica()
    return nullcontext()


class Readiness:
    """What the checks found last. Thread-safe; one look is under way at a time."""

    def __init__(self, checks: Sequence[Check] = CHECKS) -> None:
        self.checks = checks
        self.found: list[Finding] = []
        self.found_at = -FRESH_SECONDS
        self.coming: list[list[Finding]] | None = None
        self.changed = threading.Condition()

    def now(self) -> list[Finding]:
        """The findings, a second old at most; those that do not come in time, too."""
        patience = monotonic() + WAIT_SECONDS
        with self.changed:
            if monotonic() - self.found_at < FRESH_SECONDS:
                return self.found
            if self.coming is None:
                self.coming = []
                threading.Thread(target=self.look, daemon=True).start()
            coming = self.coming
            while self.coming is coming:
                if not self.changed.wait(patience - monotonic()):
                    return [*chain(*coming), *self.missing(len(coming))]
            return self.found

    def look(self) -> None:
        assert self.coming is not None
        try:
            with until(monotonic() + WAIT_SECONDS), by_the_standby_where_needed():
                for found in findings(self.checks):
                    self.coming.append(found)
        finally:
            connection.close()
            with self.changed:
                self.found, self.coming = list(chain(*self.coming)), None
                self.found_at = monotonic()
                self.changed.notify_all()

    def missing(self, done: int) -> list[Finding]:
        """The check that is waited for, and those that come after it."""
        return [
            Finding(
                check.name,
                State.UNKNOWN if number else State.FAILED,
                "It has not answered within a second",
                "See whether it runs and can be reached.",
            )
            for number, check in enumerate(self.checks[done:])
        ]

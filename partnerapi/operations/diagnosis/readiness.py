"""Whether this web process can serve: looked at once a second at most, aside.

A process that is busy is ready. What does not answer in time has failed only where no
request was answered from the database meanwhile.
"""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import chain
from math import inf
from time import monotonic

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.lending import until
from partnerapi.operations.diagnosis import (
    database,
    jobs,
    requests,
    server,
    tables,
    valkey,
)
from partnerapi.operations.diagnosis.findings import (
    SERVED_SECONDS,
    Check,
    Finding,
    State,
    findings,
)

CHECKS = (
    Check("database", database.database),
    Check("migrations", database.migrations, needs_database=True),
    Check("grants", database.grants, needs_database=True),
    Check("jobs", jobs.jobs, needs_database=True),
    Check("server", server.server, needs_database=True),
    Check("triggers", tables.triggers, needs_database=True),
    Check("versions", database.versions, needs_database=True),
    Check("requests", requests.requests),
    Check("valkey", valkey.valkey),
    Check("queue", valkey.queue),
    Check("beat", valkey.beats),
    Check("acceptor", valkey.acceptors),
)
FRESH_SECONDS = 1.0
WAIT_SECONDS = 1.0
"""How long a caller waits for the answer of a look."""
SILENT_SECONDS = 3.0
"""How long a look waits for the database. A busy one answers by then."""


def by_the_standby_where_needed() -> AbstractContextManager[None]:
    """Have checks ask the standby while the primary is known to be away."""
    if lending.is_away() and lending.standby:
        return lending.reading_replica()
    return nullcontext()


class Readiness:
    """What the checks found last. Thread-safe; one look is under way at a time."""

    def __init__(self, checks: Sequence[Check] = CHECKS) -> None:
        self.checks = checks
        self.found: list[Finding] = []
        self.found_at = -inf
        self.began_at = 0.0
        self.failing: dict[str, float] = {}
        """Since when each check has failed, a time of `time.monotonic`."""
        self.coming: list[list[Finding]] | None = None
        self.changed = threading.Condition()

    def now(self) -> list[Finding]:
        """The findings, a second old at most; those that do not come in time, too."""
        with self.changed:
            if monotonic() - self.found_at < FRESH_SECONDS:
                return self.found
            if self.coming is None:
                self.coming, self.began_at = [], monotonic()
                threading.Thread(target=self.look, daemon=True).start()
            coming = self.coming
            while self.coming is coming:
                left = self.began_at + WAIT_SECONDS - monotonic()
                if left <= 0 or not self.changed.wait(left):
                    return [*chain(*coming), *self.missing(len(coming))]
            return self.found

    def look(self) -> None:
        assert self.coming is not None
        try:
            with (
                lending.observing(),
                until(monotonic() + SILENT_SECONDS),
                by_the_standby_where_needed(),
            ):
                for found in findings(self.checks):
                    self.coming.append([*map(self.judge, found)])
        finally:
            with self.changed:
                # An error that no check foresees ends the look: the rest is not known.
                rest = self.missing(len(self.coming))
                self.found, self.coming = [*chain(*self.coming), *rest], None
                self.found_at = monotonic()
                self.changed.notify_all()

    def judge(self, finding: Finding) -> Finding:
        """The finding; a failure whose patience lasts is a warning."""
        if finding.state is not State.FAILED:
            self.failing.pop(finding.check, None)
            return finding
        since = self.failing.setdefault(finding.check, monotonic())
        if monotonic() - since >= finding.patience:
            return finding
        return replace(finding, state=State.WARNING)

    def missing(self, done: int) -> list[Finding]:
        """The check that is waited for, and those that come after it.

        What had failed before has failed still.
        """
        failed = {one.check for one in self.found if one.state is State.FAILED}
        is_silent = monotonic() - self.began_at >= SILENT_SECONDS
        if is_silent and not done and not lending.served_within(SERVED_SECONDS):
            # The database is the first.
            failed.add(self.checks[0].name)
        return [
            Finding(
                check.name,
                State.FAILED if check.name in failed else State.UNKNOWN,
                "It has not answered within a second",
                "Check that it runs and can be reached, and what keeps it busy.",
            )
            for check in self.checks[done:]
        ]

"""How many requests each key sent in an hour, by error code, kept for 30 days.

Noted while requests are answered, and written in the background: one statement every
few seconds. A process that is killed loses its unwritten notes. A request whose key was
not read, because it came too late or during an outage, is not counted.
"""

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID

from django.db import Error, connection, models
from django.db.models import Q

from accounts.keys.asides import Aside
from accounts.keys.models import ApiKey
from partnerapi.core.constraints import check
from partnerapi.core.database import delete_in_batches, execute

WRITE_SECONDS = 5.0
PRUNED_AT_ONCE = 1000
CODE_LENGTH = 50
MOST_NOTED = 20_000
"""Counts that one process holds until they are written; beyond, new ones are lost."""


class RequestCountQuerySet(models.QuerySet["RequestCount"]):
    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete what is older than 30 days, in batches; return how many rows."""
        return delete_in_batches(PRUNE, [PRUNED_AT_ONCE], advance)


PRUNE = "SELECT partnerapi_prune_request_counts(%s)"


class RequestCount(models.Model):
    """A function of the database writes it."""

    key = models.ForeignKey(
        ApiKey, models.PROTECT, related_name="request_counts", db_index=False
    )
    hour = models.DateTimeField(help_text="The beginning of the hour, UTC.")
    code = models.CharField(
        max_length=CODE_LENGTH, help_text="The code of the first error, or OK."
    )
    number = models.BigIntegerField()

    objects = RequestCountQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["key", "hour", "code"], name="one_count_per_key_hour_and_code"
            ),
            check("request_count_positive", Q(number__gt=0)),
        ]
        indexes = [models.Index(fields=["hour"], name="request_count_hour")]

    def __str__(self) -> str:
        return f"{self.number} {self.code} of {self.key_id}, {self.hour}"


class RequestCounts:
    """What this process has answered and not written yet. Thread-safe."""

    def __init__(self) -> None:
        self.noted: Counter[tuple[UUID, datetime, str]] = Counter()
        self.lock = threading.Lock()
        self.aside = Aside(self.write_or_wait, WRITE_SECONDS)

    def note(self, key_id: UUID, at: float, code: str) -> None:
        """Count a request; `at` is in seconds since 1970."""
        hour = datetime.fromtimestamp(at - at % 3600, UTC)
        counted = key_id, hour, code[:CODE_LENGTH]
        with self.lock:
            if counted in self.noted or len(self.noted) < MOST_NOTED:
                self.noted[counted] += 1
        self.aside.start_writer()

    def write(self) -> None:
        """Write the notes; one statement, or none.

        Raises:
            django.db.Error: nothing was written; the notes stay.
        """
        with self.lock:
            noted, self.noted = self.noted, Counter()
        if not noted:
            return
        keys, hours, codes = zip(*noted, strict=True)
        try:
            execute(WRITE, [[*keys], [*hours], [*codes], [*noted.values()]])
        except Error:
            with self.lock:
                self.noted.update(noted)
            raise

    def write_or_wait(self) -> None:
        # Callers that need the database report what is wrong with it.
        try:
            with suppress(Error):
                self.write()
        finally:
            connection.close()


WRITE = """
    SELECT partnerapi_count_requests(
        %s::uuid[], %s::timestamptz[], %s::text[], %s::bigint[])
"""
counts = RequestCounts()

"""Asks for scheduled jobs, as Celery's own beat does, whatever the clock does."""

import logging
import os
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from celery.beat import PersistentScheduler, SchedulingError
from redis.exceptions import RedisError

from partnerapi.core.sparing_log import OUTAGE_SECONDS, SparingLog
from partnerapi.operations.signs import leave_sign, take_sign_away

SIGNS = "beats"
"""The key in Valkey of the signs of each beat."""
SIGN_SECONDS = 2.0

log = SparingLog(logging.getLogger(__name__), OUTAGE_SECONDS)


class Scheduler(PersistentScheduler):  # type: ignore[misc]
    """Counts a job that ran in the future, by the clock as it is now, as run now.

    Celery would wait until the clock has caught up with it.
    """

    signed_at = 0.0

    def setup_schedule(self) -> None:
        """
        Raises:
            SystemExit: beat cannot write down what it has asked for.
        """
        file = Path(self.schedule_filename).absolute()
        kept = [file.with_name(file.name + end) for end in self.known_suffixes]
        needed = [file.parent, *filter(Path.exists, kept)]
        for path in needed:
            if not os.access(path, os.W_OK):
                sys.exit(
                    f"The process does not start: beat may not write {path}; pass a "
                    "writable file with --schedule."
                )
        super().setup_schedule()

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Ask for a job; where the message cannot be sent, the next one says the same.

        Celery would log a stack for each.
        """
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            log.warn(
                "Valkey accepts no message, and no job starts until it does (%s); "
                "see manage.py doctor",
                error,
            )

    def close(self) -> None:
        super().close()
        with suppress(RedisError):
            take_sign_away(SIGNS)

    def tick(self, *arguments: object, **options: object) -> float:
        if monotonic() - self.signed_at > SIGN_SECONDS:
            self.signed_at = monotonic()
            # What cannot be sent is logged.
            with suppress(RedisError):
                leave_sign(SIGNS)
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                # The heap holds times of the future, too.
                self._heap = None
        seconds: float = super().tick(*arguments, **options)
        return seconds

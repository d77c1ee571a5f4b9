"""Asks for scheduled jobs, as Celery's own beat does, whatever the clock does."""

import os
import sys
from pathlib import Path

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):  # type: ignore[misc]
    """Counts a job that ran in the future, by the clock as it is now, as run now.

    Celery would wait until the clock has caught up with it.
    """

    def setup_schedule(self) -> None:
        """
        Raises:
            SystemExit: beat can not write down what it has asked for.
        """
        file = Path(self.schedule_filename).absolute()
        kept = [file.with_name(file.name + end) for end in self.known_suffixes]
        needed = [file.parent, *filter(Path.exists, kept)]
        for path in needed:
            if not os.access(path, os.W_OK):
                sys.exit(
                    f"The process does not start: beat may not write {path}; name a "
                    "file that it may write with --schedule."
                )
        super().setup_schedule()

    def tick(self, *arguments: object, **options: object) -> float:
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                # The heap holds times of the future, too.
                self._heap = None
        seconds: float = super().tick(*arguments, **options)
        return seconds

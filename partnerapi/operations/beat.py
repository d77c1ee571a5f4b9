"""Asks for scheduled jobs, as Celery's own beat does, whatever the clock does."""

from celery.beat import PersistentScheduler


class Scheduler(PersistentScheduler):  # type: ignore[misc]
    """Counts a job that ran in the future, by the clock as it is now, as run now.

    Celery would wait until the clock has caught up with it.
    """

    def tick(self, *arguments: object, **options: object) -> float:
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at > now:
                entry.last_run_at = now
                # The heap holds times of the future, too.
                self._heap = None
        seconds: float = super().tick(*arguments, **options)
        return seconds

"""A service that is away is said to be away once, and tried sparingly until it answers.

Health checks and metrics read `is_on`.
"""

from logging import Logger
from threading import Lock
from time import monotonic


class Outage:
    """What this process knows of one service. Thread-safe.

    `away` is logged with the error in place of its %s when the outage begins, `back`
    when it ends. While it lasts, `may_try` is true for one caller in each period of
    `retry_seconds`. `began_at` is a time of `time.monotonic`.
    """

    def __init__(
        self, logger: Logger, away: str, back: str, retry_seconds: float = 1.0
    ) -> None:
        self.logger = logger
        self.away = away
        self.back = back
        self.retry_seconds = retry_seconds
        self.is_on = False
        self.until = 0.0
        self.began_at = 0.0
        self.lock = Lock()

    def may_try(self) -> bool:
        if not self.is_on:
            return True
        with self.lock:
            if monotonic() < self.until:
                return False
            self.until = monotonic() + self.retry_seconds
            return True

    def begin(self, error: Exception) -> None:
        """The service did not answer."""
        with self.lock:
            self.until = monotonic() + self.retry_seconds
            if self.is_on:
                return
            self.is_on, self.began_at = True, monotonic()
        self.show(1)
        self.logger.warning(self.away, error)

    def end(self) -> None:
        """The service answered."""
        if not self.is_on:
            return
        with self.lock:
            was_on, self.is_on = self.is_on, False
        if was_on:
            self.show(0)
            self.logger.info(self.back)

    def show(self, value: int) -> None:
        """Set the gauge of outages: 1 while it lasts."""
        # Commands load this module, and do without prometheus_client.
        from partnerapi.core.metrics import OUTAGES

        OUTAGES.labels(self.logger.name).set(value)

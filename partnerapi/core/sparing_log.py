"""Warnings of what strangers can bring about as often as they like."""

from logging import Logger
from time import monotonic

LINES_A_MINUTE = 20


class SparingLog:
    """Warns LINES_A_MINUTE times a minute and counts the rest: floods fill no log."""

    def __init__(self, logger: Logger) -> None:
        self.logger = logger
        self.since, self.lines, self.dropped = monotonic(), 0, 0

    def warn(self, text: str, *arguments: object) -> None:
        now = monotonic()
        if now - self.since > 60:
            if self.dropped:
                self.logger.warning(
                    "%d like the following were not logged", self.dropped
                )
            self.since, self.lines, self.dropped = now, 0, 0
        if self.lines < LINES_A_MINUTE:
            self.lines += 1
            self.logger.warning(text, *arguments)
        else:
            self.dropped += 1

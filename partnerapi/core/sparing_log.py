"""Warnings that strangers can cause as often as they like: one line a second and kind.
Of an outage, which lasts, one in ten seconds.

The next line of a kind says how many were left out before it.
"""

import logging
import re
from math import inf
from threading import Lock
from time import monotonic

from partnerapi.core.postgresql.faults import fault_of

LINE_SECONDS = 1.0
"""The least time between two lines of one kind."""
OUTAGE_SECONDS = 10.0


class Sparing:
    """Decides which lines are written. Thread-safe.

    A kind is kept for the life of the process: it is named by the code that logs, and
    holds nothing that strangers send.
    """

    def __init__(self) -> None:
        # When each kind was last written, and how many of it were left out since.
        self.kinds: dict[object, tuple[float, int]] = {}
        self.lock = Lock()

    def left_out(self, kind: object, seconds: float | None = None) -> int | None:
        """How many lines were left out before this one; None: leave it out, too.

        So many seconds lie between two lines of the kind, else LINE_SECONDS.
        """
        now, least = monotonic(), LINE_SECONDS if seconds is None else seconds
        with self.lock:
            written, count = self.kinds.get(kind, (-inf, 0))
            if now - written < least:
                self.kinds[kind] = written, count + 1
                return None
            self.kinds[kind] = now, 0
            return count


class SparingLog:
    """Warns sparingly. A text, before its arguments are filled in, is a kind."""

    def __init__(self, logger: logging.Logger, seconds: float | None = None) -> None:
        self.logger = logger
        self.seconds = seconds
        self.sparing = Sparing()

    def warn(self, text: str, *arguments: object) -> None:
        count = self.sparing.left_out(text, self.seconds)
        if count:
            self.logger.warning(
                f"{text} ({count} similar messages omitted)", *arguments
            )
        elif count is not None:
            self.logger.warning(text, *arguments)


SECRET = re.compile(r"(/partner/invitation/)\S+")
"""Of an invitation's address: a reader of the log could accept the invitation."""


class RefusalFilter(logging.Filter):
    """Passes Django's lines of refused requests sparingly, by their logger and status.

    Errors of django.request, and what other loggers write, pass always. Of
    django.security.… errors are refusals, too: a Host that is not ours is one. What
    failed for want of the database or of Valkey is a line without the stack, by what is
    wrong. The secrets of addresses are left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sparing = Sparing()

    def filter(self, record: logging.LogRecord) -> bool:
        if SECRET.search(message := record.getMessage()):
            record.msg, record.args = SECRET.sub(r"\1…", message), ()
        error = record.exc_info[1] if record.exc_info else None
        fault = fault_of(error) or fault_of_valkey(error)
        if fault:
            record.msg, record.args = f"{record.getMessage()}: {fault}", ()
            record.exc_info = record.exc_text = None
        status = getattr(record, "status_code", None)
        is_refusal = record.levelno < logging.ERROR or status == 503
        if not (
            fault
            or (record.name == "django.request" and is_refusal)
            or record.name.startswith("django.security.")
        ):
            return True
        kind = fault or (record.name, status)
        count = self.sparing.left_out(kind, OUTAGE_SECONDS if fault else None)
        if count:
            record.msg = f"{record.getMessage()} ({count} similar messages omitted)"
            record.args = ()
        return count is not None


def fault_of_valkey(error: BaseException | None) -> str | None:
    """What Valkey's client says, without its import, which commands would wait for."""
    if type(error).__module__ != "redis.exceptions":
        return None
    return "Valkey refuses the request or does not answer; see manage.py doctor"

"""What the processes of a machine count; `manage.py serve_metrics` sums it up.

Where PARTNER_API_METRICS names a directory, each process writes its numbers into files
of a place of its own there, without a call of the system. A process that comes later
takes the place of one that has ended, and goes on counting: so there are never more
files than there were processes at a time. Labels hold words of this code, and logins
of partners, never what someone sends.
"""

import fcntl
import os
from functools import cache
from itertools import count
from pathlib import Path
from typing import IO, NamedTuple

from django.conf import settings
from prometheus_client import Counter, Gauge, Histogram, values

LIVE = "gauge_live"
"""The files of numbers that end with their process begin like this."""


class Place:
    """This process's number among those of the machine; taken when it first counts."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.number = 0
        self.lock: IO[bytes] | None = None

    def __call__(self) -> int:
        if not self.number:
            self.take()
        return self.number

    def take(self) -> None:
        for number in count(1):
            self.lock = lock_file(self.directory / f"{number}.lock")
            if self.lock:
                forget_live_numbers(self.directory, number)
                self.number = number
                return

    def leave(self) -> None:
        """In a child, which counts at a place of its own; the parent keeps the lock."""
        if self.lock:
            self.lock.close()
        self.number, self.lock = 0, None


def lock_file(path: Path) -> IO[bytes] | None:
    """The file, locked for as long as it is open; None: another process has it."""
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def forget_live_numbers(directory: Path, number: int) -> None:
    for file in directory.glob(f"{LIVE}*_{number}.db"):
        file.unlink(missing_ok=True)


def forget_ended_processes(directory: Path) -> None:
    """Remove the live numbers of processes that have ended."""
    for path in directory.glob("*.lock"):
        if lock := lock_file(path):
            with lock:
                forget_live_numbers(directory, int(path.stem))


if settings.PARTNER_API_METRICS:
    directory = Path(settings.PARTNER_API_METRICS)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    place = Place(directory)
    os.register_at_fork(after_in_child=place.leave)
    values.ValueClass = values.MultiProcessValue(place)

REQUESTS = Counter(
    "partnerapi_requests",
    "Requests to /graphql, by kind of operation and code of the first error",
    ["operation", "code"],
)
SECONDS = Histogram(
    "partnerapi_request_seconds",
    "Duration of requests to /graphql, in seconds, by kind of operation",
    ["operation"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
POINTS = Counter("partnerapi_points", "Points charged for requests", ["operation"])
SERVER_SECONDS = Counter(
    "partnerapi_server_seconds",
    "Server time of requests to /graphql, in seconds, by the partner's login; empty: "
    "without a key",
    ["partner"],
)
KEYS = Counter(
    "partnerapi_keys",
    "API keys of requests: cached by the process, read from the database, or refused",
    ["result"],
)
TURN_SECONDS = Histogram(
    "partnerapi_turn_seconds",
    "Seconds that complete requests waited for a database connection",
    buckets=(0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
DATABASE_WAITS = Counter(
    "partnerapi_database_waits",
    "Requests that got none of the process's database connections in time",
    ["result"],
)
OUTAGES = Gauge(
    "partnerapi_outages",
    "Processes to which a service does not answer, by the module that uses it",
    ["module"],
    multiprocess_mode="livesum",
)
JOBS = Counter(
    "partnerapi_jobs",
    "Scheduled jobs started and ended, by job and result",
    ["job", "result"],
)
TASKS = Counter(
    "partnerapi_tasks",
    "Tasks started and ended, by task and result; a task that has started and not "
    "ended is running, or its worker was killed",
    ["task", "result"],
)
TASK_SECONDS = Histogram(
    "partnerapi_task_seconds",
    "Duration of tasks, in seconds, by task",
    ["task"],
    buckets=(0.01, 0.1, 1, 10, 60, 300, 540),
)
TASKS_SENT = Counter(
    "partnerapi_tasks_sent",
    "Tasks queued by beat or by another task, by task",
    ["task"],
)
FIX_SESSIONS = Gauge(
    "partnerapi_fix_sessions", "FIX sessions", multiprocess_mode="livesum"
)
FIX_MESSAGES = Counter("partnerapi_fix_messages", "FIX messages sent")
CLOCK_LOOKS = Counter(
    "partnerapi_clock_looks",
    "Times that a market clock has looked whether a phase is due; one that waits for "
    "the lease does not",
)
WEBHOOK_LOOKS = Counter(
    "partnerapi_webhook_looks",
    "Times that the process that sends webhooks has looked for what is due; one that "
    "waits for the lease does not",
)
WEBHOOK_ATTEMPTS = Counter(
    "partnerapi_webhook_attempts", "Webhook messages sent, by outcome", ["outcome"]
)
FEED_LAG = Gauge(
    "partnerapi_feed_lag_seconds",
    "Seconds since the acceptor last compared its books with the database",
    multiprocess_mode="livemax",
)


class OfRequest(NamedTuple):
    requests: Counter
    seconds: Histogram
    points: Counter


@cache
def of_request(operation: str, code: str) -> OfRequest:
    """What counts requests of this kind; there are few kinds, and few codes."""
    return OfRequest(
        REQUESTS.labels(operation, code),
        SECONDS.labels(operation),
        POINTS.labels(operation),
    )


@cache
def server_seconds(login: str) -> Counter:
    """What counts the server time of a partner's requests."""
    return SERVER_SECONDS.labels(login)


KEY_KNOWN, KEY_READ, KEY_REFUSED = map(KEYS.labels, ("known", "read", "refused"))
CONNECTION_LACKED = DATABASE_WAITS.labels("lacked")

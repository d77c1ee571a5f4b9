"""What the standby of REPLICA_URL has, as far as this process knows.

A standby cannot tell whether what it has replayed up to an instant is all: someone on
the primary may have taken a time and not committed yet. So a web process asks the
primary once a second up to which instant all is committed, and how long its log was
then. As soon as the standby has replayed that much, it has all up to that instant.
"""

import os
import threading
from collections.abc import Callable
from datetime import datetime
from time import monotonic, sleep
from typing import Any, TypeVar

from django.conf import settings
from django.db import Error, OperationalError, connection

from partnerapi.core.postgresql import lending

LOOK_SECONDS = 1.0
Answer = TypeVar("Answer")


class Standby:
    """Thread-safe. `settled_at`: the standby has all up to this instant, and the
    primary had it at `seen_at`, a time of `time.monotonic`."""

    def __init__(self) -> None:
        os.register_at_fork(after_in_child=self.begin)
        self.begin()

    def begin(self) -> None:
        self.settled_at: datetime | None = None
        self.seen_at = 0.0
        self.follower: threading.Thread | None = None
        self.lock = threading.Lock()

    def follow(self) -> None:
        """Look at primary and standby from now on, where there is a standby."""
        if self.follower is not None or lending.standby is None:
            return
        with self.lock:
            if self.follower is None:
                self.follower = threading.Thread(target=self.run, daemon=True)
                self.follower.start()

    def run(self) -> None:
        while True:
            try:
                self.look()
            except Error:
                # Whoever asks for the database meanwhile says what is wrong with it.
                continue
            finally:
                connection.close()
                sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Ask the primary what is settled, and wait until the standby has it.

        Raises:
            django.db.Error: one of them does not answer.
        """
        seen_at = monotonic()
        with lending.until(seen_at + LOOK_SECONDS):
            # The second statement begins when the first has ended: what was settled is
            # in the log by then.
            [(settled_at,)] = answers("SELECT accounts_settled_at()")
            [(written,)] = answers("SELECT pg_current_wal_insert_lsn()::text")
            connection.close()
        replayed = False
        while not replayed:
            with (
                lending.until(monotonic() + LOOK_SECONDS),
                lending.reading_replica(),
            ):
                [(replayed,)] = answers(
                    "SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written
                )
            if not replayed:
                sleep(LOOK_SECONDS)
        self.settled_at, self.seen_at = settled_at, seen_at

    def has(self, at: datetime) -> bool:
        """Whether the standby has all up to an instant, and is near the primary."""
        return (
            self.settled_at is not None
            and at <= self.settled_at
            and monotonic() - self.seen_at <= settings.PARTNER_API_REPLICA_LAG
        )

    def read(self, at: datetime | None, read: Callable[[], Answer]) -> Answer:
        """What `read` finds of a settled instant, on the standby where that has it."""
        if at is None or lending.reads_replica() or not self.has(at):
            return read()
        try:
            with lending.reading_replica():
                return read()
        except Error:
            # It is away, or has removed what it was reading to follow the primary.
            return read()


def answers(statement: str, *arguments: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return cursor.fetchall()


standby = Standby()

SETTLED_AT = "accounts_settled_at(%s::timestamptz, %s::boolean)"
"""In a statement, with `settled_arguments`: up to where everything is committed."""


def settled_arguments() -> list[Any]:
    """The arguments of SETTLED_AT: what this process knows of the primary.

    Raises:
        OperationalError: this thread reads the standby, and this process has not seen
            the primary yet. It may go on with what the standby does not have.
    """
    has_ended = lending.lender is not None and lending.lender.has_ended
    if lending.reads_replica() and standby.settled_at is None and not has_ended:
        raise OperationalError("It is not known what the standby lacks.")
    return [standby.settled_at, has_ended]

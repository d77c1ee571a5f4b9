"""Waits for a row's lock that take too long."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

RELATION = re.compile(r'relation "(\w+)"')
NAMES: dict[str, str] = {}
"""What people call a row of a table, by the table; each app adds its own."""


class LockTimeout(Exception):
    """Another transaction held a row for too long; trying again may succeed."""


@contextmanager
def name_locked_row() -> Iterator[None]:
    """Name the row whose lock did not come in time, or that closed a deadlock.

    Raises:
        LockTimeout
    """
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
            raise
        message = str(error)
        found = RELATION.search(message)
        # Without a name it is the lock by which imports wait for each other.
        held = NAMES.get(found[1], found[1]) if found else "rows that this needs"
        raise LockTimeout(
            f"Another transaction holds {held} and did not release it in time "
            f"({message.splitlines()[0]})."
        ) from error

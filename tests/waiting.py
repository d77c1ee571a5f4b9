"""Waits: over as soon as what is waited for is there, on however busy a machine."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

from tests.servers import PATIENCE_SECONDS

PROGRAM_SECONDS = 1_800.0
"""PATIENCE_SECONDS for a program that starts servers or fetches packages."""

Found = TypeVar("Found")


def until(
    reached: Callable[[], Found],
    said: Callable[[], object] = lambda: "it did not come",
    pause: float = 0.005,
) -> Found:
    """What `reached` returns, as soon as that is true; it is asked again and again.

    `said` shows what was there instead when PATIENCE_SECONDS were not enough.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := reached()):
        assert time.monotonic() < deadline, said()
        time.sleep(pause)
    return found


def until_waiting_for_a_lock(count: int = 1) -> None:
    """Until so many sessions of the tests' database wait for what another one holds."""
    with connection.cursor() as cursor:

        def waiting() -> bool:
            # A transaction sees the sessions as they were when it first looked.
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname ="
                " current_database() AND (wait_event_type = 'Lock' OR wait_event ="
                " 'PgSleep' AND query LIKE '%register_instant(%')"
            )
            return cursor.fetchone()[0] >= count

        until(waiting)

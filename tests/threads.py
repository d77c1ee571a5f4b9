"""Work that several threads do at once, each on a connection of its own."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import connection

from tests.servers import PATIENCE_SECONDS


@contextmanager
def patient_locks() -> Iterator[None]:
    """New connections, as threads make them, wait for a lock as long as it takes.

    The two seconds of production are too few for many who want one row of a busy
    machine.
    """
    options = connection.settings_dict["OPTIONS"]
    before = options["options"]
    patient = f"lock_timeout={PATIENCE_SECONDS * 1000:.0f}"
    options["options"] = re.sub(r"lock_timeout=\d+", patient, before)
    assert patient in options["options"]
    try:
        yield
    finally:
        options["options"] = before


def in_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    """Run `work(number)` in threads with patient locks; what they raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    with patient_locks():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return errors

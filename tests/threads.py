"""Work that several threads do at once, each on a connection of its own."""

import threading
from collections.abc import Callable

from django.db import connection


def in_threads(count: int, work: Callable[[int], None]) -> list[BaseException]:
    """Run `work(number)` in threads; what they raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors

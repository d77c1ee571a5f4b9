"""Rows that somebody else holds for longer than one waits."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError
from psycopg.errors import DeadlockDetected, LockNotAvailable

RELATION = re.compile(r'relation "(\w+)"')
NAMES = {
    "accounts_user": "a user",
    "issuers_deliveryjob": "this delivery",
    "issuers_legacyshareholder": "one of the lines",
    "issuers_issuer": "an issuer",
    "issuers_token": "a token",
    "issuers_tokenledgerhead": "a token's ledger",
}


class HeldByOthersError(Exception):
    """What was to be read or written did not come free; it is worth trying again."""


@contextmanager
def giving_up_on_others() -> Iterator[None]:
    """Say what is held where a lock is not had in time, or two wait for each other.

    Raises:
        HeldByOthersError
    """
    try:
        yield
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
            raise
        said = str(error)
        found = RELATION.search(said)
        # Without a name it is the lock by which imports wait for each other.
        held = NAMES.get(found[1], found[1]) if found else "what this needs"
        raise HeldByOthersError(
            f"Somebody else holds {held}, and it did not come free "
            f"({said.splitlines()[0]})."
        ) from error

"""What commands that ask for a password are given on standard input."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from accounts.people.models import User
from tests.owner import appoint

PASSWORD = "correct horse battery"


@contextmanager
def typing(*lines: str) -> Iterator[None]:
    before = sys.stdin
    sys.stdin = io.StringIO("".join(f"{line}\n" for line in lines or [PASSWORD]))
    try:
        yield
    finally:
        sys.stdin = before


def give_password(user: User) -> None:
    """The person decides at once all the same."""
    user.set_password(PASSWORD)
    user.save()
    appoint(user)

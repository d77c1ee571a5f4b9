"""What has to follow, in the same transaction, when someone may not trade any more.

Rooms above register followers here; neither accounts nor issuers know of them. What
followers lock comes before accounts and holders in the order of locks (CONTRIBUTING).
"""

from collections.abc import Callable, Collection
from functools import cache
from typing import Protocol, TypeVar
from uuid import UUID

from django.db import transaction
from django.utils.module_loading import import_string

from partnerapi.core.lock_waits import LockTimeout

MOST_TRIES = 20
Done = TypeVar("Done")
Ids = Collection[UUID] | None
"""Ids of users or of tokens; None: of all."""


class Follower(Protocol):
    def concerned(self, users: Ids, tokens: Ids) -> set[UUID]:
        """The tokens in which something of these users has to follow; locks nothing."""

    def hold(self, tokens: Collection[UUID]) -> None:
        """Lock these tokens, in the order of locks, to the end of the transaction."""

    def follow(self, users: Ids, tokens: Collection[UUID], reason: str) -> None:
        """Do what follows from a change that is made; the tokens are held."""


FOLLOWERS: list[str] = []
"""Where each one's class is: most processes need none, and import none."""


@cache
def followers() -> list[Follower]:
    return [import_string(name)() for name in FOLLOWERS]


class _CameUp(Exception):
    """Another token is concerned than those that are held."""


def followed(
    users: Ids,
    tokens: Ids,
    reason: str,
    change: Callable[[], Done],
    lock: Callable[[], object] = lambda: None,
) -> Done:
    """Make a change, and what follows from it, in one transaction.

    `change` locks its own rows, and judges under these locks. It may be called more
    than once: where another token has come up before it had its locks, what it did is
    rolled back. `lock` takes its locks before, where others may still trade with what
    came up: `change` is then called when nothing has. `reason` is what followers write
    down, such as ACCOUNT_NOT_ACTIVE.

    Raises:
        LockTimeout: other tokens came up again and again.
    """
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                return _follow(users, tokens, reason, change, lock)
        except _CameUp:
            continue
    raise LockTimeout("Orders of this holder keep coming; try again.")


def _follow(
    users: Ids,
    tokens: Ids,
    reason: str,
    change: Callable[[], Done],
    lock: Callable[[], object],
) -> Done:
    held = [follower.concerned(users, tokens) for follower in followers()]
    for follower, of in zip(followers(), held, strict=True):
        follower.hold(of)
    # Who places an order shares the locks of `lock` or `change`: none comes up now.
    lock()
    _check_held(users, tokens, held)
    done = change()
    _check_held(users, tokens, held)
    for follower, of in zip(followers(), held, strict=True):
        follower.follow(users, of, reason)
    return done


def _check_held(users: Ids, tokens: Ids, held: list[set[UUID]]) -> None:
    for follower, of in zip(followers(), held, strict=True):
        if follower.concerned(users, tokens) - of:
            raise _CameUp

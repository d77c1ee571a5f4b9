"""Consequences, in the same transaction, when a user may not trade any more.

Rooms above register followers here; neither accounts nor issuers import them. The rows
that followers lock precede accounts and holders in the order of locks (core/locks.md).
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
    def affected_tokens(self, users: Ids, tokens: Ids) -> set[UUID]:
        """The tokens that a change of these users affects; locks nothing."""

    def hold(self, tokens: Collection[UUID]) -> None:
        """Lock these tokens, in the order of locks, to the end of the transaction."""

    def follow(self, users: Ids, tokens: Collection[UUID], reason: str) -> None:
        """Apply the consequences of a change that is made; the tokens are locked."""


FOLLOWERS: list[str] = []
"""Where each one's class is: most processes need none, and import none."""


@cache
def followers() -> list[Follower]:
    return [import_string(name)() for name in FOLLOWERS]


class _CameUp(Exception):
    """A token is affected that is not locked."""


def change_and_follow(
    users: Ids,
    tokens: Ids,
    reason: str,
    change: Callable[[], Done],
    lock: Callable[[], object] | None = None,
) -> Done:
    """Make a change, and apply its consequences, in one transaction.

    `change` locks its own rows and decides under these locks. It may be called more
    than once: if another token became affected before it had its locks, its work is
    rolled back. `lock` takes the locks of `change` in advance, where others may still
    trade in a token that became affected: `change` is then called once none has.
    Followers record `reason`, such as ACCOUNT_NOT_ACTIVE.

    Raises:
        LockTimeout: other tokens became affected again and again.
    """
    for _ in range(MOST_TRIES):
        try:
            with transaction.atomic():
                return _follow(users, tokens, reason, change, lock)
        except _CameUp:
            continue
    raise LockTimeout("New orders of this holder keep arriving; try again.")


def _follow(
    users: Ids,
    tokens: Ids,
    reason: str,
    change: Callable[[], Done],
    lock: Callable[[], object] | None,
) -> Done:
    held = [follower.affected_tokens(users, tokens) for follower in followers()]
    for follower, of in zip(followers(), held, strict=True):
        follower.hold(of)
    # Placing an order shares the locks of `lock` or `change`: no new token appears now.
    if lock:
        lock()
        _check_held(users, tokens, held)
    done = change()
    _check_held(users, tokens, held)
    for follower, of in zip(followers(), held, strict=True):
        follower.follow(users, of, reason)
    return done


def _check_held(users: Ids, tokens: Ids, held: list[set[UUID]]) -> None:
    for follower, of in zip(followers(), held, strict=True):
        if follower.affected_tokens(users, tokens) - of:
            raise _CameUp

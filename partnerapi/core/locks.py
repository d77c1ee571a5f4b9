"""Statements that only lock, and read what they have locked."""

from collections.abc import Callable, Sequence
from typing import Any

from partnerapi.core.database import fetch
from partnerapi.core.postgresql.timing import untimed


def lock(
    statement: str,
    arguments: list[Any] | dict[str, Any],
    row: Callable[[Sequence[Any]], Any] = tuple,
) -> list[Any]:
    """Every row that a statement answers, which no caller is billed for.

    It takes its locks in the order of `locks.md`, and does no work under them: how
    long it takes depends on others.
    """
    with untimed():
        return fetch(statement, arguments, row)

"""What a check found, and what an operator does about it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from django.db import Error

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.faults import (
    UNREACHABLE,
    Fault,
    fault_of,
    took_too_long,
)

SERVED_SECONDS = 3.0
"""While a request was answered from the database so lately, it is not away."""
SLOW = (
    "Check pg_stat_activity and pg_locks for the statements that keep the database "
    "busy."
)


class State(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """All is served, and something wants attention."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """It could not be looked at, because something else fails."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`says` is for operators only: it may name roles, hosts and files.

    `remedy` and `figures` name nothing that is secret; the figures are counts, and
    seconds where their name says so. What is well needs no remedy. For `patience`
    seconds a process counts as ready although it has failed.
    """

    check: str
    state: State
    says: str
    remedy: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    patience: float = 0.0


@dataclass(frozen=True, slots=True)
class Check:
    """A look at one thing; it may find several, and needs what stands before it."""

    name: str
    look: Callable[[], Iterable[Finding]]
    needs_database: bool = False


def findings(checks: Iterable[Check]) -> Iterator[list[Finding]]:
    """What each check finds, one after the other; an error of the database, too."""
    has_database = True
    for check in checks:
        if check.needs_database and not has_database:
            yield [
                Finding(
                    check.name,
                    State.UNKNOWN,
                    "Unknown while the database does not answer",
                    "First repair the database.",
                )
            ]
            continue
        try:
            yield list(check.look())
        except Error as error:
            has_database = has_database and fault_of(error) not in UNREACHABLE
            yield [of_database(check.name, error)]


def remedy_of(fault: Fault) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    what, _, remedy = fault.partition("; ")
    return what, f"{remedy[0].upper()}{remedy[1:]}."


def of_database(name: str, error: Error) -> Finding:
    said = " ".join(str(error).split())
    fault = fault_of(error)
    if took_too_long(error):
        return Finding(name, State.WARNING, f"The check took too long ({said})", SLOW)
    if fault is None:
        remedy = "Run manage.py migrate, then grant_application_role, as the owner."
        return Finding(name, State.FAILED, said, remedy)
    what, remedy = remedy_of(fault)
    is_borne = fault in (Fault.BUSY, Fault.LOCKED) or (
        fault in UNREACHABLE and lending.served_within(SERVED_SECONDS)
    )
    state = State.WARNING if is_borne else State.FAILED
    return Finding(name, state, f"{what} ({said})", remedy)

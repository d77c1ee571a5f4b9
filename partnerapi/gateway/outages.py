"""Refuses what cannot be answered for want of the database."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic

from django.db import Error
from graphql import ExecutionResult

from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.faults import (
    Fault,
    OutcomeUnknown,
    fault_of,
    took_too_long,
)
from partnerapi.core.sparing_log import OUTAGE_SECONDS, SparingLog
from partnerapi.gateway import clock
from partnerapi.gateway.refusals import Unavailable

log = SparingLog(logging.getLogger(__name__), OUTAGE_SECONDS)

RETRY_SECONDS = 1
ANSWERED_SECONDS = 2.0
"""If the database has answered another request this recently, a request without a
connection met no outage: other requests used all connections."""
NOT_NOW = (
    "The service is unavailable. Send the request again after Retry-After, with the "
    "same Idempotency-Key for a mutation."
)
UNKNOWN = (
    "The outcome is unknown: the change was not confirmed, and may or may not last. "
    "Send it again after Retry-After with the same Idempotency-Key: it is executed "
    "once, and the response shows the outcome."
)

noted: dict[Fault, float] = {}
"""When a request of this process was last refused for a fault, by `time.monotonic`."""
answered_at = -inf
"""When a request of this process last got its answer from the database."""


def note_answer() -> None:
    """Note that a request got its answer from the database."""
    global answered_at
    answered_at = monotonic()


@contextmanager
def refuse_in_outage() -> Iterator[None]:
    """Make a refusal of an outage.

    Raises:
        Unavailable
        Throttled: other requests had all connections until the deadline.
    """
    try:
        yield
    except Error as error:
        fault = fault_of(error)
        if fault is None and not took_too_long(error):
            raise
        if fault:
            note(fault, error)
        if fault is Fault.BUSY and monotonic() - answered_at < ANSWERED_SECONDS:
            raise clock.spent(RETRY_SECONDS) from error
        unknown = isinstance(error, OutcomeUnknown)
        raise Unavailable(
            UNKNOWN if unknown else NOT_NOW,
            headers={"Retry-After": str(RETRY_SECONDS)},
            **({"outcome": "UNKNOWN"} if unknown else {}),
        ) from error


def note(fault: Fault, error: BaseException) -> None:
    """Log an outage: a line in ten seconds and kind."""
    noted[fault] = monotonic()
    if fault is Fault.READ_ONLY:
        # A new connection finds the primary, where DATABASE_URL names several hosts.
        lending.discard()
    log.warn(f"{fault} (%s)", " ".join(str(error).split()))


def raise_outage(executed: ExecutionResult) -> None:
    """Raise the first error of an answer that is an outage: there is no half answer."""
    for error in executed.errors or ():
        if error.original_error and fault_of(error.original_error):
            raise error.original_error

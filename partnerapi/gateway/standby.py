"""Has the standby answer queries while the primary is away."""

from collections.abc import Callable
from time import monotonic
from typing import TypeVar

from django.conf import settings
from django.db import Error

from accounts.access import Caller
from partnerapi.core.postgresql import lending
from partnerapi.core.postgresql.faults import UNREACHABLE, fault_of
from partnerapi.core.standby import standby
from partnerapi.gateway.authentication import authenticate

Answer = TypeVar("Answer")


def read_anywhere(read: Callable[[], Answer], deadline: float) -> Answer:
    """What `read` finds: on the primary, or on the standby where that is away.

    `read` changes nothing. `deadline` is a time of `time.monotonic`.

    Raises:
        django.db.Error: neither answers, or the primary took all the time.
    """
    standby.follow()
    try:
        return read()
    except Error as error:
        is_away = fault_of(error) in UNREACHABLE
        if lending.standby is None or not is_away or monotonic() >= deadline:
            raise
    with lending.reading_replica():
        return read()


def identify_caller(token: str, deadline: float) -> Caller:
    """The caller behind a key; the standby is believed for a limited time.

    Raises:
        Unauthenticated: the key is malformed, unknown, wrong, revoked or expired.
        django.db.Error: neither answers, or the primary is away for too long.
    """
    primary = lending.lender
    if primary and away_seconds(primary) > settings.PARTNER_API_REPLICA_SECONDS:
        return authenticate(token)
    return read_anywhere(lambda: authenticate(token), deadline)


def away_seconds(primary: lending.Lender) -> float:
    return monotonic() - primary.outage.began_at if primary.outage.is_on else 0.0

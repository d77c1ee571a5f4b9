"""How long the mutations of trading wait."""

from contextlib import contextmanager

from partnerapi.core.errors import RequestTimeout
from partnerapi.core.lock_waits import LockTimeout, name_locked_row


@contextmanager
def within_time():
    """Limit the wait for each lock to a request's time.

    Raises:
        RequestTimeout: nothing was changed.
    """
    try:
        with name_locked_row():
            yield
    except LockTimeout as error:
        raise RequestTimeout(
            f"{error} Nothing was changed; send the same request again."
        ) from error

"""The application as if no commit were ever unconfirmed, for a control.

PostgreSQL calls a commit done whose wait for a standby was cancelled, and says so in a
warning, which this one does not read. Served as `tests.chaos.unaware`.
"""

from psycopg.errors import Diagnostic

from partnerapi.core.postgresql.base import DatabaseWrapper
from partnerapi.wsgi import application

__all__ = ["application"]


def hear(wrapper: DatabaseWrapper, notice: Diagnostic) -> None:
    """Ignore it."""


DatabaseWrapper.hear = hear  # type: ignore[method-assign, assignment]

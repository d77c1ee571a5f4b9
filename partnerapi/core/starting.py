"""What a process that serves looks at before it begins.

Apps add their checks. Each is a few statements; what a database that is away cannot
tell is not asked: the process starts, and refuses what needs it until it is back.
"""

from logging import getLogger

from django.conf import settings
from django.db import Error, connection
from django.utils.module_loading import import_string

from partnerapi.core.postgresql.faults import Fault, fault_of

logger = getLogger(__name__)

checks: list[str] = []
"""Where each one is: only a process that serves imports them."""


class StartRefused(Exception):
    """Settings or the database do not fit; the message says what to do about it."""


def check_start() -> None:
    """
    Raises:
        StartRefused: by the first check that finds something.
    """
    if not settings.DATABASE_URL:
        raise StartRefused(
            "DATABASE_URL is not set and there is no sandbox here; set it, such as "
            "DATABASE_URL=postgres://user:password@host:5432/name, or run "
            "`manage.py up`"
        )
    try:
        for name in checks:
            import_string(name)()
    except Error as error:
        fault = fault_of(error)
        if fault is None:
            raise
        if fault in (Fault.UNGRANTED, Fault.INCOMPLETE):
            raise StartRefused(f"{fault} ({error})") from error
        logger.warning("Started without checking the database: %s", fault)
    finally:
        connection.close()

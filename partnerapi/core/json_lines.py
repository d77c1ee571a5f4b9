"""Lines of the log as JSON objects, for programs that read them (LOG_FORMAT=json)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""Of the request, the task, or the Logon's session that this thread is at work on."""


@contextmanager
def logged_as(name: str | None) -> Iterator[None]:
    """Log with a request's id what this thread does for it meanwhile."""
    before = request_id.set(name)
    try:
        yield
    finally:
        request_id.reset(before)


def add_request_id(logger: Any, method: str, event: Any) -> Any:
    if current := request_id.get():
        event.setdefault("requestId", current)
    return event


def formatter() -> Any:
    """For the lines of every logger."""
    # Takes a tenth of a second, which every command would wait for.
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            add_request_id,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(lambda o, **_: orjson.dumps(o).decode()),
        ],
    )


def write(**members: Any) -> None:
    """Write one line past the loggers, for what is logged most.

    It is one call of the system, so that lines of several processes do not mix as long
    as they are shorter than 4 KB.
    """
    line = {"at": datetime.now(UTC), "level": "info", **members}
    os.write(STANDARD_ERROR, orjson.dumps(line, option=OPTIONS))


OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
STANDARD_ERROR = 2

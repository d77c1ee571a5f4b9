"""The author, source and request of a write: sent once to each transaction.

Triggers that keep histories read them. The default author is the session's role, "SQL".
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections, transaction
from psycopg.sql import SQL

said: ContextVar[str] = ContextVar("author", default="")
WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|MERGE|WITH)\b", re.IGNORECASE)


@contextmanager
def written_by(
    who: str, source: str, request_id: str = "", using: str = DEFAULT_DB_ALIAS
) -> Iterator[None]:
    """Attribute this thread's writes to `who`: a login or an e-mail address.

    `source` is the page or the command. A statement outside a transaction gets its own
    transaction. A transaction that has already begun gets the author at once.
    """
    text = json.dumps({"who": who, "from": source, "request": request_id})
    before = said.set(text)
    try:
        tell(text, using)
        with connections[using].execute_wrapper(in_a_transaction):
            yield
    finally:
        said.reset(before)
        tell(said.get(), using)


def tell(text: str, using: str) -> None:
    connection = connections[using]
    if connection.in_atomic_block and not connection.needs_rollback:
        tell_transaction(connection.connection, text)


def tell_transaction(raw: psycopg.Connection[Any], text: str) -> None:
    """It is no query: the transaction may still choose what it sees."""
    statement = SQL("SET LOCAL partnerapi.author = {}").format(text)
    # Each text is another; what is prepared must not give way to it.
    raw.execute(statement, prepare=False)


def in_a_transaction(
    execute: Callable[..., Any],
    sql: Any,
    params: Any,
    many: bool,
    context: dict[str, Any],
) -> Any:
    asked = context["connection"]
    if asked.in_atomic_block or not isinstance(sql, str) or not WRITES.match(sql):
        return execute(sql, params, many, context)
    with transaction.atomic(using=asked.alias):
        return execute(sql, params, many, context)

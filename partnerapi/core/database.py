"""What Django's database layer does not give: prepared reads, arrays as text."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import psycopg
from django.db import connection


def fetch(
    statement: str, arguments: list[Any], row: Callable[[Sequence[Any]], Any]
) -> list[Any]:
    """Every row that a statement answers; `row` makes each of its values."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    # Bound by the server, a statement is planned once and then only executed; Django's
    # own cursors, which it still wraps and counts, bind on the client.
    bound = psycopg.Cursor(connection.connection)
    with connection._prepare_cursor(bound) as cursor:  # type: ignore[attr-defined]
        cursor.execute(statement, arguments)
        cursor.cursor.row_factory = lambda _: row
        rows: list[Any] = cursor.fetchall()
        return rows


def array_text(items: Iterable[object]) -> str:
    """PostgreSQL's text of an array of numbers or uuids: `{1,2}`.

    psycopg quotes and converts the items of a list one by one, which takes longer than
    many statements do.
    """
    return f"{{{','.join(map(str, items))}}}"

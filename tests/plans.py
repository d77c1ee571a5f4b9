"""What PostgreSQL reads for a statement: rows, which no load of the machine changes."""

from collections.abc import Iterator
from typing import Any

from django.db import connection


def rows_read(statement: str, table: str) -> int:
    """The rows of a table that a statement reads, those that it throws away included.

    The statement runs.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}")
        [(found,)] = cursor.fetchall()
    return sum(
        (
            node["Actual Rows"]
            + node.get("Rows Removed by Filter", 0)
            + node.get("Rows Removed by Index Recheck", 0)
        )
        * node["Actual Loops"]
        for node in nodes(found[0]["Plan"])
        if node.get("Relation Name") == table
    )


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from nodes(below)

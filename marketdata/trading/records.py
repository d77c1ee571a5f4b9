"""A day's records of our markets, for supervisory authorities: JSON lines.

Orders, events and executions of the day, and the rules, restrictions and profiles that
changed on it. The last line has the number of the lines before it and their SHA-256
digest, line ends included. Orders appear in their state at the time of reading. Their
history on the day is in their events.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import orjson
from django.conf import settings
from django.db import connection, transaction

AT_ONCE = 1_000


def records(
    day: date, advance: Callable[[int], object] = lambda done: None
) -> Iterator[bytes]:
    """The lines of a calendar day in MARKET_TIME_ZONE, each with its line end."""
    digest, count = hashlib.sha256(), 0
    for record, statement in STATEMENTS.items():
        for row in rows(statement, day):
            line = orjson.dumps(
                {"record": record} | row, option=orjson.OPT_APPEND_NEWLINE, default=str
            )
            digest.update(line)
            count += 1
            advance(1)
            yield line
    yield orjson.dumps(
        {
            "record": "END",
            "day": day.isoformat(),
            "lines": count,
            "sha256": digest.hexdigest(),
        },
        option=orjson.OPT_APPEND_NEWLINE,
    )


def rows(statement: str, day: date) -> Iterator[dict[str, Any]]:
    """Rows by column names, from a server-side cursor at one instant."""
    bounded = f"""
        WITH day AS (
            SELECT (%s::date)::timestamp AT TIME ZONE %s AS begins,
                (%s::date + 1)::timestamp AT TIME ZONE %s AS ends
        ) {statement}
    """
    zone = settings.MARKET_TIME_ZONE
    with transaction.atomic(), connection.chunked_cursor() as cursor:
        cursor.execute(bounded, [day, zone, day, zone])
        names: list[str] = []
        while found := cursor.fetchmany(AT_ONCE):
            names = names or [column.name for column in cursor.description or ()]
            for row in found:
                yield dict(zip(names, row, strict=True))


STATEMENTS = {
    "ORDER": """
        SELECT o.*, t.symbol FROM trading_order o
        JOIN issuers_token t ON t.id = o.token_id, day
        WHERE o.created_at < day.ends AND (o.status = 'OPEN'
            OR o.updated_at >= day.begins)
        ORDER BY o.created_at, o.id
    """,
    "EVENT": """
        SELECT e.* FROM trading_orderevent e, day
        WHERE e.at >= day.begins AND e.at < day.ends ORDER BY e.token_id, e.number
    """,
    "EXECUTION": """
        SELECT x.* FROM trading_execution x, day
        WHERE x.at >= day.begins AND x.at < day.ends ORDER BY x.token_id, x.sequence
    """,
    "BUST": """
        SELECT b.* FROM trading_bust b, day
        WHERE b.at >= day.begins AND b.at < day.ends ORDER BY b.token_id, b.sequence
    """,
    "RULE": """
        SELECT r.* FROM issuers_tokenrule r, day
        WHERE r.created_at >= day.begins AND r.created_at < day.ends
            OR r.ended_at >= day.begins AND r.ended_at < day.ends ORDER BY r.id
    """,
    "RESTRICTION": """
        SELECT r.* FROM issuers_restriction r, day
        WHERE r.created_at >= day.begins AND r.created_at < day.ends
            OR r.ended_at >= day.begins AND r.ended_at < day.ends ORDER BY r.id
    """,
    "INVESTOR": """
        SELECT i.* FROM accounts_investorchange i, day
        WHERE i.created_at >= day.begins AND i.created_at < day.ends ORDER BY i.id
    """,
}
"""By the kind of record; orders are those that were there on the day."""

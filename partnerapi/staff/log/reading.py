"""Reads the log of a time, by who did it and to what; the latest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.apps import apps
from django.db import connection
from django.utils.text import capfirst


class Line(NamedTuple):
    """`kind` is what staff call the object's type."""

    at: datetime
    who: str | None
    what: str
    kind: str | None
    object: str | None
    before: str | None
    after: str | None
    reason: str
    request_id: str
    source: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """From `since` to before `until`; the rest is left out where it is empty."""

    since: datetime
    until: datetime
    who: str = ""
    object: str = ""
    source: str = ""
    trades: bool = False
    """Whether the prices that trades leave behind are lines, too."""


def lines(wanted: Wanted, most: int) -> Iterator[Line]:
    """At most so many lines; one statement, whatever the log has before and after."""
    names: dict[str | None, str] = {
        model._meta.db_table: capfirst(str(model._meta.verbose_name))
        for model in apps.get_models()
    }
    with connection.cursor() as cursor:
        cursor.execute(
            LINES,
            {
                "since": wanted.since,
                "until": wanted.until,
                "who": wanted.who.lower(),
                "object": wanted.object,
                "source": wanted.source,
                "trades": wanted.trades,
                "most": most,
            },
        )
        for line in map(Line._make, cursor.fetchall()):
            yield line._replace(kind=names.get(line.kind, line.kind))


LINES = """
    SELECT at, who, what, kind, object, before, after, reason, request_id, source
    FROM staff_log
    WHERE at >= %(since)s AND at < %(until)s
        AND (%(who)s = '' OR starts_with(lower(who), %(who)s))
        AND (%(object)s = '' OR object = %(object)s)
        AND (%(source)s = '' OR starts_with(source, %(source)s))
        AND (%(trades)s OR what <> 'Price: TRADE')
    ORDER BY at DESC LIMIT %(most)s
"""

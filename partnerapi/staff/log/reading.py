"""Reads the log of a period, by person and object, the latest first."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.utils.text import capfirst

from partnerapi.staff.log.naming import Row, columns_that_name, named_table, names_of
from partnerapi.staff.lookup import as_uuid

ROW_CHANGES = {"Insert", "Update", "Delete", "Export", "Import"}


class Line(NamedTuple):
    """`kind` is what staff call the object's type, `name` what they call the object."""

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
    name: str = ""


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
    """At most so many lines; two statements, whatever the log has before and after."""
    names: dict[str | None, str] = {
        model._meta.db_table: capfirst(str(model._meta.verbose_name))
        for model in apps.get_models(include_auto_created=True)
    }
    key = as_uuid(wanted.object)
    with connection.cursor() as cursor:
        cursor.execute(
            statement(wanted),
            {
                "since": wanted.since,
                "until": wanted.until,
                "who": wanted.who.lower(),
                "object": str(key or wanted.object),
                "key": key,
                "source": wanted.source,
                "most": most,
            },
        )
        found = [Line(*row) for row in cursor.fetchall()]
    naming = {kind: columns_that_name(kind) for kind in {line.kind for line in found}}
    called = names_of(row for line in found for row in named_by(line, naming))
    for line in found:
        name = called.get((named_table(line.kind), line.object or ""), "")
        yield readable(line, naming, called)._replace(
            kind=names.get(line.kind, line.kind), name=name
        )


Naming = Mapping[str | None, Mapping[str, str]]
"""By table, the columns that name rows of other tables, and these tables."""
Called = Mapping[Row, str]


def named_by(line: Line, naming: Naming) -> Iterator[Row]:
    """The rows of which a line has the keys."""
    if line.kind and line.object:
        yield line.kind, line.object
    if line.what in ROW_CHANGES:
        for said in filter(None, (line.before, line.after)):
            row = json.loads(said)
            for column, table in naming[line.kind].items():
                if row.get(column) is not None:
                    yield table, str(row[column])


def readable(line: Line, naming: Naming, called: Called) -> Line:
    """The line with its columns, or what a page notes, in words instead of JSON."""
    if line.what in ROW_CHANGES:
        tables = naming[line.kind]
        return line._replace(
            before=columns(line.before, tables, called),
            after=columns(line.after, tables, called),
        )
    if line.what.startswith("Page: ") and line.after:
        name, colon, noted = line.after.partition(": [")
        if colon:
            message = LogEntry(change_message=f"[{noted}").get_change_message()
            return line._replace(after=f"{name}: {message}")
    return line


def columns(row: str | None, tables: Mapping[str, str], called: Called) -> str | None:
    """A row's columns, a line each; rows of other tables by their names."""
    if row is None:
        return None
    said = []
    for name, value in json.loads(row).items():
        if other := called.get((tables.get(name, ""), str(value))):
            said.append(f"{name.removesuffix('_id').replace('_', ' ')}: {other}")
        else:
            said.append(f"{name.replace('_', ' ')}: {in_words(value)}")
    return "\n".join(said)


def in_words(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case True:
            return "yes"
        case False:
            return "no"
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)


def statement(wanted: Wanted) -> str:
    """Only what is asked for is a condition, so that each source uses its index."""
    conditions = ["at >= %(since)s AND at < %(until)s"]
    if wanted.who:
        conditions.append("starts_with(lower(who), %(who)s)")
    if wanted.source:
        conditions.append("starts_with(source, %(source)s)")
    if not wanted.trades:
        conditions.append("NOT is_price_of_trade")
    if not wanted.object:
        return LATEST.format(" AND ".join(conditions))
    parts = ["object_key IS NULL AND object = %(object)s"]
    if as_uuid(wanted.object):
        parts.append("object_key = %(key)s")
    each = (f"({LATEST.format(' AND '.join([*conditions, part]))})" for part in parts)
    together = " UNION ALL ".join(each)
    return f"SELECT * FROM ({together}) AS found ORDER BY at DESC LIMIT %(most)s"


LATEST = """
    SELECT at, who, what, kind, object, before, after, reason, request_id, source
    FROM staff_log WHERE {} ORDER BY at DESC LIMIT %(most)s
"""

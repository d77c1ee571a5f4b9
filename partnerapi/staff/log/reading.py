"""Reads the log of a period, by kind, person and object, the latest first."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.utils.text import capfirst

from issuers.register.kinds import EntryKind
from issuers.register.models import TokenPrice
from partnerapi.core.database import rows_of
from partnerapi.core.money import euros
from partnerapi.core.times import to_rfc3339
from partnerapi.staff.log.naming import Row, columns_that_name, named_table, names_of
from partnerapi.staff.lookup import as_uuid

ROW_CHANGES = {"Insert", "Update", "Delete", "Export", "Import", "Signin"}
LINES_OF_FOLD = 20
"""Of a fold, that its page can open."""
MOST_READ = 5_000
"""Lines that are read to find the folds of a page."""
MOST_TIED = 20_000
"""Lines of one time that are read for their order; of more, it is not the same on each
page."""
OF_MONEY = {"amount", "booked_balance", "closing_balance"}
"""Columns with euro cents, in addition to those whose names end with `_cents`."""
KINDS: dict[str, tuple[str, list[str]]] = {
    "changes": (
        "Changes",
        ["Insert", "Update", "Delete", "Page: added", "Page: changed", "Page: deleted"],
    ),
    "requests": (
        "Requests and decisions",
        ["Request", "Approval", "Refusal", "Taken back", "Execution", "Overtaken"],
    ),
    "statuses": ("Account statuses", ["Status"]),
    "entries": ("Register entries", [f"Entry: {kind}" for kind in EntryKind]),
    "prices": (
        "Prices",
        [f"Price: {source}" for source in TokenPrice.Source],
    ),
    "deliveries": ("Deliveries", ["Delivery"]),
    "files": ("Downloads and imports", ["Export", "Import"]),
    "sign-ins": ("Sign-ins", ["Signin", "Failed sign-in"]),
}
"""What staff choose: how it is called, and which lines it has."""


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


class Place(NamedTuple):
    """After so many lines of this time; a transaction's lines all have one time."""

    at: datetime
    skipped: int

    def __str__(self) -> str:
        return f"{to_rfc3339(self.at)}~{self.skipped}"


NEWEST = Place(datetime.max.replace(tzinfo=UTC), 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """From `since` to before `until`; the rest is left out where it is empty."""

    since: datetime
    until: datetime
    who: str = ""
    object: str = ""
    source: str = ""
    kind: str = ""
    """One of `KINDS`."""
    details: bool = False
    """Whether what trades, deliveries and sessions leave behind are lines, too."""
    place: Place = NEWEST
    """Where the lines go on."""


@dataclass(frozen=True, slots=True)
class Fold:
    """`count` lines of one kind that one request wrote, or one source in one go.

    The latest of them are `lines`; `end` is where the lines after it begin.
    """

    lines: list[Line]
    count: int
    end: Place


def lines(wanted: Wanted, most: int) -> Iterator[Line]:
    """At most so many lines; two statements, whatever the log has before and after."""
    order = "at DESC, kind, what, object, after"
    found = rows_of(
        f"SELECT {COLUMNS} FROM ({statement(wanted)}) AS found ORDER BY {order}"
        " LIMIT %(most)s",
        parameters(wanted) | {"most": most, "within": most, "bound": most},
    )
    return named([Line(*row) for row in found])


def folds(wanted: Wanted, most: int) -> tuple[list[Fold], bool]:
    """At most so many folds, and whether there are more; two statements.

    No more than `MOST_READ` lines are read, so that the last fold may go on.
    """
    within = MOST_READ + 1 + wanted.place.skipped
    found = rows_of(
        FOLDS.format(statement(wanted), COLUMNS),
        parameters(wanted)
        | {
            "within": within,
            "bound": within + MOST_TIED,
            "most": MOST_READ + 1,
            "lines": LINES_OF_FOLD,
            "folds": most + 1,
        },
    )
    read = [(Line(*row[:WIDTH]), *row[WIDTH:]) for row in found]
    groups = [[*of] for _, of in groupby(read, lambda each: each[1])]
    shown = iter(named([line for line, *_ in read]))
    result = []
    for group in groups:
        _, _, count, last_at, same = group[0]
        skipped = wanted.place.skipped if last_at == wanted.place.at else 0
        end = Place(last_at, same + skipped)
        result.append(Fold([next(shown) for _ in group], count, end))
    return result[:most], len(result) > most or sum(f.count for f in result) > MOST_READ


def parameters(wanted: Wanted) -> dict[str, Any]:
    key = as_uuid(wanted.object)
    return {
        "since": wanted.since,
        "until": wanted.until,
        "who": wanted.who.lower(),
        "object": str(key or wanted.object),
        "key": key,
        "source": wanted.source,
        "whats": KINDS[wanted.kind][1] if wanted.kind else [],
        "at": wanted.place.at,
        "skipped": wanted.place.skipped,
    }


def named(found: list[Line]) -> Iterator[Line]:
    names: dict[str | None, str] = {
        model._meta.db_table: capfirst(str(model._meta.verbose_name))
        for model in apps.get_models(include_auto_created=True)
    }
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
    if line.what.startswith("Price: ") and line.after:
        return line._replace(after=euros(int(line.after.removesuffix(" cents"))))
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
        elif name in OF_MONEY or name.endswith("_cents"):
            amount = "nothing" if value is None else euros(value)
            said.append(f"{name.removesuffix('_cents').replace('_', ' ')}: {amount}")
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
    if wanted.place != NEWEST:
        conditions.append("at <= %(at)s")
    if wanted.who:
        conditions.append("starts_with(lower(who), %(who)s)")
    if wanted.source:
        conditions.append("starts_with(source, %(source)s)")
    if wanted.kind:
        conditions.append("what = ANY (%(whats)s)")
    if not wanted.details:
        conditions.append("NOT is_detail")
    if not wanted.object:
        return LATEST.format(" AND ".join(conditions))
    parts = ["object_key IS NULL AND object = %(object)s"]
    if as_uuid(wanted.object):
        parts.append("object_key = %(key)s")
    each = (f"({LATEST.format(' AND '.join([*conditions, part]))})" for part in parts)
    return " UNION ALL ".join(each)


COLUMNS = ", ".join(Line._fields[:-1])
WIDTH = len(Line._fields) - 1
LATEST = f"""
    SELECT {COLUMNS} FROM (
        SELECT {COLUMNS} FROM staff_log WHERE {{}}
        ORDER BY at DESC LIMIT %(bound)s
    ) AS bounded
    ORDER BY at DESC FETCH FIRST (%(within)s) ROWS WITH TIES
"""
FOLDS = """
    WITH found AS (
        SELECT *, row_number() OVER w AS place,
            (who, kind, what, source) IS DISTINCT FROM (lag(who) OVER w,
                lag(kind) OVER w, lag(what) OVER w, lag(source) OVER w)
            OR request_id IS DISTINCT FROM nullif(lag(request_id) OVER w, '')
                AND lag(at) OVER w - at > interval '1 second' AS begins
        FROM (
            SELECT * FROM ({}) AS latest
            ORDER BY at DESC, kind, what, object, after
            OFFSET %(skipped)s LIMIT %(most)s
        ) AS latest
        WINDOW w AS (ORDER BY at DESC, kind, what, object, after)
    ), folded AS (
        SELECT *, count(*) FILTER (WHERE begins) OVER (ORDER BY place) AS fold,
            row_number() OVER (PARTITION BY at ORDER BY place) AS nth_of_time
        FROM found
    ), counted AS (
        SELECT *, row_number() OVER (PARTITION BY fold ORDER BY place) AS nth,
            count(*) OVER f AS lines, last_value(at) OVER f AS last_at,
            last_value(nth_of_time) OVER f AS same
        FROM folded
        WINDOW f AS (PARTITION BY fold ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    )
    SELECT {}, fold, lines, last_at, same FROM counted
    WHERE fold <= %(folds)s AND nth <= %(lines)s ORDER BY place
"""

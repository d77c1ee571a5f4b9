"""Pages of the holders of capitalization tables."""

from datetime import datetime

from accounts.models import User
from issuers.register.captable import capitalization_tables
from issuers.register.captable_columns import Holder
from issuers.register.captable_pages import (
    FIRST_USER,
    LAST_USER,
    Stretch,
    any_within,
    holder_counts,
    holders_within,
    to_be_counted,
)
from partnerapi.core.errors import InvalidCursor
from partnerapi.graphql.pages import cut, make_window
from partnerapi.graphql.statements import OrderedList, OrderKey

HOLDERS = OrderedList(
    "holders",
    "CapitalizationTableHolder",
    User,
    # The table's instant, which is the same for all of its holders; the user decides.
    (OrderKey("date", "timestamptz"),),
    parent="issuer_id",
)

READING_COST = 25
"""Points of a page, or of a count, however many tables are read at once."""
COUNTED_PER_POINT = 100
"""Holders of single tokens for a point; a user may be several of them."""


class ListedHolder(Holder):
    """A holder with its place in the list."""

    __slots__ = ()
    list_name = HOLDERS.name

    @property
    def cursor_key(self):
        return f"{self.user_id}|{self.date}"


def holder_pages(tables, info, **arguments):
    """A page of each table's holders; the tables are all at one instant.

    Raises:
        InvalidCursor: a cursor is damaged, or of a table at another instant.
    """
    window = make_window(HOLDERS, info, **arguments)
    after, before = window.after, window.before
    tables = at_instant(tables, after=after, before=before)
    ends = {place[1] for place in (after, before) if place}
    # With those who stand in the cursors: they are not of the page, but if they held
    # units then, nothing else has to be read to know that there is more.
    stretch = Stretch(
        after[1] if after else FIRST_USER,
        before[1] if before else LAST_USER,
        inclusive=True,
        backward=window.backward,
        limit=window.size + 1 + len(ends),
    )
    info.context.spend(READING_COST)
    rows = holders_within(tables, stretch)
    beyond_after = beyond_before = [False for _ in tables]
    if info.selection.selects("pageInfo"):
        if after:
            until = Stretch(before=after[1], inclusive=True, backward=True)
            beyond_after = is_beyond(tables, rows, after[1], until)
        if before:
            since = Stretch(before[1], inclusive=True)
            beyond_before = is_beyond(tables, rows, before[1], since)
    pages = [
        cut(
            [ListedHolder._make(row) for row in held if row.user_id not in ends],
            window,
            more_after,
            more_before,
        )
        for held, more_after, more_before in zip(
            rows, beyond_before, beyond_after, strict=True
        )
    ]
    if info.selection.selects("totalCount"):
        for page, count in zip(pages, charged_counts(tables, info), strict=True):
            page.total_count = count
    return pages


def is_beyond(tables, rows, user_id, stretch):
    """Whether each table has holders in the stretch, in which the user stands."""
    found = [any(row.user_id == user_id for row in held) for held in rows]
    return found if all(found) else any_within(tables, stretch)


def charged_counts(tables, info):
    """How many holders each table has; what has to be counted is charged."""
    points = sum(-(-to_be_counted(table) // COUNTED_PER_POINT) for table in tables)
    if points:
        info.context.spend(READING_COST + points)
    return holder_counts(tables)


def at_instant(tables, **cursors):
    """The tables at the instant that the cursors hold; without any, as they are."""
    instants = {name: place[0] for name, place in cursors.items() if place}
    if not instants:
        return tables
    name, instant = next(iter(instants.items()))
    if len(set(instants.values())) > 1:
        raise other_instant("before")
    if all(table.date == instant for table in tables):
        return tables
    if not all(table.is_present for table in tables):
        raise other_instant(name)
    issuers = [table.issuer_id for table in tables]
    tables = capitalization_tables(
        issuers, datetime.fromisoformat(instant), with_holders=False
    )
    if any(table.date != instant for table in tables):
        raise other_instant(name)
    return tables


def other_instant(argument):
    return InvalidCursor(
        "This cursor is of a table at another instant. Pass the date of the table "
        "from whose page it is, or none.",
        argument=argument,
    )

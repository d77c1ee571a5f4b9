"""Pages of the holders of capitalization tables."""

from dataclasses import replace
from datetime import datetime

from issuers.register.captable import capitalization_tables
from issuers.register.captable_columns import Holder
from issuers.register.captable_pages import (
    Stretch,
    any_within,
    holder_counts,
    holders_within,
)
from issuers.register.models import HoldingPeriod
from partnerapi.core.errors import InvalidCursor
from partnerapi.graphql.pages import cut, make_window
from partnerapi.graphql.statements import OrderedList, OrderKey

HOLDERS = OrderedList(
    "holders",
    "CapitalizationTableHolder",
    HoldingPeriod,
    # The table's instant, which is the same for all of its holders; the user decides.
    (OrderKey("date", "timestamptz"),),
    parent="issuer_id",
)


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
    stretch = Stretch(backward=window.backward, limit=window.size + 1)
    if after:
        stretch = replace(stretch, after=after[1])
    if before:
        stretch = replace(stretch, before=before[1])
    beyond_after = beyond_before = [False for _ in tables]
    if info.selection.selects("pageInfo"):
        # Whoever stands in a cursor held units then, and is found at once.
        if after:
            until = Stretch(before=after[1], inclusive=True, backward=True)
            beyond_after = any_within(tables, until)
        if before:
            beyond_before = any_within(tables, Stretch(before[1], inclusive=True))
    rows = holders_within(tables, stretch)
    pages = [
        cut([ListedHolder._make(row) for row in held], window, more_after, more_before)
        for held, more_after, more_before in zip(
            rows, beyond_before, beyond_after, strict=True
        )
    ]
    if info.selection.selects("totalCount"):
        for page, count in zip(pages, holder_counts(tables), strict=True):
            page.total_count = count
    return pages


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

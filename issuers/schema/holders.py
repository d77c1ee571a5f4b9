"""Pages of the holders of capitalization tables."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from accounts.people.models import User
from issuers.register.captable_columns import TokenBalance
from issuers.register.captable_pages import (
    FIRST_USER,
    LAST_USER,
    Stretch,
    any_within,
    holder_counts,
    holders_within,
)
from partnerapi.core.errors import InvalidCursor
from partnerapi.graphql.cursors import keys_in
from partnerapi.graphql.pages import cut, make_window, others
from partnerapi.graphql.statements import OrderedList, OrderKey

HOLDERS = OrderedList(
    "holders",
    "CapitalizationTableHolder",
    User,
    # The table's instant, which is the same for all of its holders; the user decides.
    (OrderKey("date", "timestamptz"),),
    parent="issuer_id",
)


class ListedHolder(NamedTuple):
    """A holder, as `captable_columns` has it, with its place in an issuer's list."""

    user_id: str
    total_value: int
    percentage: float
    token_balances: Sequence[TokenBalance]
    date: str
    parent_key: str

    @property
    def list_name(self) -> str:
        return HOLDERS.name

    @property
    def cursor_key(self):
        return f"{self.user_id}|{self.date}"


def holder_pages(tables, info, **arguments):
    """A page of each table's holders; the tables are all at one instant.

    Raises:
        InvalidCursor: a cursor is damaged, or of a table at another instant.
    """
    issuers = [table.issuer_id for table in tables]
    window = make_window(HOLDERS, info, issuers, **arguments)
    strangers = others(issuers, arguments.get("after"), arguments.get("before"))
    if strangers:
        own = [table for table in tables if table.issuer_id not in strangers]
        found = iter(holder_pages(own, info, **arguments) if own else [])
        return [strangers.get(issuer) or next(found) for issuer in issuers]
    after, before = window.after, window.before
    check_instant(tables, after=after, before=before)
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
            [
                ListedHolder(*row, table.issuer_id)
                for row in held
                if row.user_id not in ends
            ],
            window,
            more_after,
            more_before,
        )
        for table, held, more_after, more_before in zip(
            tables, rows, beyond_before, beyond_after, strict=True
        )
    ]
    if info.selection.selects("totalCount"):
        for page, count in zip(pages, holder_counts(tables), strict=True):
            page.total_count = count
    return pages


def is_beyond(tables, rows, user_id, stretch):
    """Whether each table has holders in the stretch, in which the user stands."""
    found = [any(row.user_id == user_id for row in held) for held in rows]
    return found if all(found) else any_within(tables, stretch)


def instant_of_cursors(info):
    """The instant of the cursors that are passed to pages of a table's holders.

    None: there are none, or some that the pages will refuse.
    """
    instants = set()
    for page in info.arguments_below("CapitalizationTable", "holdersConnection"):
        for name in ("after", "before"):
            if (cursor := page.get(name)) is None:
                continue
            try:
                _, instant = keys_in(cursor, HOLDERS.name, HOLDERS.key_types)
                instants.add(instant)
            except InvalidCursor:
                return None
    return datetime.fromisoformat(instants.pop()) if len(instants) == 1 else None


def check_instant(tables, **cursors):
    """Refuse cursors of tables at another instant than these.

    Raises:
        InvalidCursor
    """
    instants = {name: place[0] for name, place in cursors.items() if place}
    if len(set(instants.values())) > 1:
        raise other_instant("before")
    for name, instant in instants.items():
        if any(table.date != instant for table in tables):
            raise other_instant(name)


def other_instant(argument):
    return InvalidCursor(
        "This cursor belongs to a table at another instant. Pass the date of "
        "that table, or no date.",
        argument=argument,
    )

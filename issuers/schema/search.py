"""Pages of issuers that a text finds."""

from django.core.exceptions import EmptyResultSet

from issuers import models
from issuers.search import Place, Search, search
from partnerapi.core.errors import InvalidCursor
from partnerapi.graphql.pages import (
    Page,
    compile_condition,
    cut,
    make_window,
    read_placed,
)
from partnerapi.graphql.statements import OrderedList, OrderKey

FOUND = OrderedList(
    "found",
    "Issuer",
    models.Issuer,
    # The class and the folded name, of which places consist besides the id.
    (OrderKey("kind", "bigint"), OrderKey("name", "text")),
)


def find(text, caller, issuers):
    """The answers to a text among some issuers; None: a blank text narrows nothing."""
    try:
        condition, values = compile_condition(issuers)
    except EmptyResultSet:
        condition, values = "FALSE", ()
    return search(text, caller, condition, values)


def search_page(found: Search, info, **arguments) -> Page:
    window = make_window(FOUND, info, **arguments)
    after = as_place(window.after, "after")
    before = as_place(window.before, "before")
    places = found.places(
        after, before, backward=window.backward, limit=window.size + 1
    )
    beyond_after = after and found.places(
        before=after, backward=True, inclusive=True, limit=1
    )
    beyond_before = before and found.places(before, inclusive=True, limit=1)
    rows = read_placed(FOUND, info, places)
    page = cut(rows, window, bool(beyond_before), bool(beyond_after))
    if info.selection.selects("totalCount"):
        page.total_count = found.count()
    return page


def as_place(keys: list[str] | None, argument: str) -> Place | None:
    if keys is None:
        return None
    kind, name, issuer_id = keys
    if kind not in ("1", "2", "3"):
        raise InvalidCursor("This is not a cursor of this list.", argument=argument)
    return Place(int(kind), name, issuer_id)

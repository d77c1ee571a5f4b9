"""Pages of issuers that a text finds."""

from django.core.exceptions import EmptyResultSet

from issuers import models
from issuers.search import Place, Search, search
from partnerapi.core.errors import InvalidCursor
from partnerapi.graphql.pages import (
    Page,
    compile_condition,
    found_page,
    make_window,
)
from partnerapi.graphql.statements import OrderedList, OrderKey

FOUND = OrderedList(
    "found",
    "Issuer",
    models.Issuer,
    # A place consists of the class, the folded name and the id.
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
    return found_page(FOUND, info, found, window, after, before)


def as_place(keys: list[str] | None, argument: str) -> Place | None:
    if keys is None:
        return None
    kind, name, issuer_id = keys
    if kind not in ("1", "2", "3"):
        raise InvalidCursor(
            ("The cursor does not belong to this list."), argument=argument
        )
    return Place(int(kind), name, issuer_id)

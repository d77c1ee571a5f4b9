"""What the rows of exports hold: the connection itself, read page by page.

The resolvers that answer partners answer here, too, so that a row has the same fields,
in the same order, and is refused for the same reasons.
"""

from dataclasses import dataclass
from time import monotonic
from typing import Any, NamedTuple

from graphql import GraphQLSchema

from accounts.access import Caller
from partnerapi.core.errors import NotFound
from partnerapi.core.times import to_rfc3339
from partnerapi.exports.connections import CONNECTIONS
from partnerapi.exports.models import Export
from partnerapi.graphql.documents import prepare
from partnerapi.graphql.execution import execute

PAGE_SECONDS = 120.0


class Rows(NamedTuple):
    """A page of a connection; `cursor` is that of its last row."""

    rows: list[dict[str, Any]]
    cursor: str | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class Reader:
    """The caller, as resolvers see it."""

    caller: Caller
    largest_page: int
    trial: None = None


def read_rows(schema: GraphQLSchema, export: Export, caller: Caller) -> Rows:
    """The rows that follow those which the export has.

    Raises:
        PartnerAPIError: the caller may not read them, or they cannot be read now.
    """
    exported = CONNECTIONS[export.connection]
    named_by, id = object_of(export)
    variables = {
        "first": exported.page_rows,
        "after": export.cursor,
        "id": id,
        "date": export.date and to_rfc3339(export.date),
    }
    if export.last_sequence == 0:
        return Rows([], None, is_last=True)
    reader = Reader(caller, exported.page_rows)
    page = read_page(schema, exported.documents[named_by], variables, reader)
    rows, cursor = page["nodes"], page["pageInfo"]["endCursor"]
    is_last = not page["pageInfo"]["hasNextPage"]
    if export.last_sequence and rows and rows[-1]["sequence"] >= export.last_sequence:
        rows = [row for row in rows if row["sequence"] <= export.last_sequence]
        is_last = True
    return Rows(rows, cursor, is_last)


def read_page(
    schema: GraphQLSchema, document: str, variables: dict[str, Any], reader: Reader
) -> dict[str, Any]:
    prepared = prepare(schema, document, None, variables)
    result = execute(prepared, reader, monotonic() + PAGE_SECONDS)
    for error in result.errors or ():
        raise error.original_error or error
    assert result.data is not None
    found = result.data
    while "parent" in found:
        found = found["parent"]
        if found is None:
            raise NotFound(
                "The exported object no longer exists, or you may no longer see it."
            )
    page: dict[str, Any] = found["page"]
    return page


def object_of(export: Export) -> tuple[str | None, str | None]:
    """What the export is of: the member of the input that named it, and its id."""
    if export.account_id is not None:
        return "accountID", f"Account|{export.account_id}"
    if export.token_id is not None:
        return "tokenID", f"Token|{export.token_id}"
    if export.issuer_id is not None:
        return "issuerID", f"Issuer|{export.issuer_id}"
    return None, None

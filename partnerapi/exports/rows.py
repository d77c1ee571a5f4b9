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
from partnerapi.exports.models import Export, ExportedConnection
from partnerapi.graphql.documents import prepare
from partnerapi.graphql.execution import execute

PAGE_ROWS = 8_000
PAGE_SECONDS = 120.0

USER = "user { id displayName type lei country { code } }"
DOCUMENTS: dict[str, str] = {
    # Nothing here changes after the instant that the document names.
    ExportedConnection.HOLDERS: """
query ($id: ID!, $date: Time!, $first: Int!, $after: String) {
  parent: issuer(id: $id) { capitalizationTable(date: $date) {
    page: holdersConnection(first: $first, after: $after) {
      nodes {
        userID holderName totalValue percentage
        tokenBalances { tokenID balanceSpecificToken currentPrice totalTokenValue }
      }
      pageInfo { hasNextPage endCursor }
    }
  } }
}
""",
    ExportedConnection.TRANSACTIONS: """
query ($id: ID!, $first: Int!, $after: String) {
  parent: token(id: $id) { page: transactions(first: $first, after: $after) {
    nodes {
      id sequence kind amount effectiveAt supplyAfter heldAfter reverses
      token { id } source { id user { id } } target { id user { id } }
    }
    pageInfo { hasNextPage endCursor }
  } }
}
""",
    ExportedConnection.LEGACY_SHAREHOLDERS: f"""
query ($id: ID!, $first: Int!, $after: String) {{
  parent: issuer(id: $id) {{ page: legacyShareholders(first: $first, after: $after) {{
    nodes {{ id status numberOfShares price createdAt issuer {{ id }} {USER} }}
    pageInfo {{ hasNextPage endCursor }}
  }} }}
}}
""",
    ExportedConnection.ACCOUNTS: f"""
query ($first: Int!, $after: String) {{
  page: accounts(first: $first, after: $after) {{
    nodes {{ id status statusReason allowedStatuses createdAt updatedAt {USER} }}
    pageInfo {{ hasNextPage endCursor }}
  }}
}}
""",
    ExportedConnection.ORDERS: """
query ($first: Int!, $after: String) {
  page: orders(first: $first, after: $after) {
    nodes {
      id clientOrderID side type limitPrice quantity filledQuantity filledValue
      timeInForce expiresAt status statusReason version createdAt updatedAt
      account { id } token { id }
    }
    pageInfo { hasNextPage endCursor }
  }
}
""",
    ExportedConnection.EXECUTIONS: """
query ($first: Int!, $after: String) {
  page: executions(first: $first, after: $after) {
    nodes {
      id side price quantity value liquidity tradeSequence ledgerSequence at bustedAt
      order { id clientOrderID } token { id }
    }
    pageInfo { hasNextPage endCursor }
  }
}
""",
    ExportedConnection.POSITIONS: """
query ($first: Int!, $after: String) {
  page: positions(first: $first, after: $after) {
    nodes {
      account { id } token { id } quantity reserved locked available lockedUntil
    }
    pageInfo { hasNextPage endCursor }
  }
}
""",
}


class Rows(NamedTuple):
    """A page of a connection; `cursor` is that of its last row."""

    rows: list[dict[str, Any]]
    cursor: str | None
    is_last: bool


@dataclass(frozen=True, slots=True)
class Reader:
    """The caller, as resolvers see it."""

    caller: Caller
    largest_page: int = PAGE_ROWS


def read_rows(schema: GraphQLSchema, export: Export, caller: Caller) -> Rows:
    """The rows that follow those which the export has.

    Raises:
        PartnerAPIError: the caller may not read them, or they cannot be read now.
    """
    variables: dict[str, Any] = {"first": PAGE_ROWS, "after": export.cursor}
    match export.connection:
        case ExportedConnection.HOLDERS:
            assert export.date is not None
            variables["id"] = f"Issuer|{export.issuer_id}"
            variables["date"] = to_rfc3339(export.date)
        case ExportedConnection.TRANSACTIONS:
            if not export.last_sequence:
                return Rows([], None, is_last=True)
            variables["id"] = f"Token|{export.token_id}"
        case ExportedConnection.LEGACY_SHAREHOLDERS:
            variables["id"] = f"Issuer|{export.issuer_id}"
    page = read_page(schema, DOCUMENTS[export.connection], variables, caller)
    rows, cursor = page["nodes"], page["pageInfo"]["endCursor"]
    is_last = not page["pageInfo"]["hasNextPage"]
    if export.last_sequence and rows and rows[-1]["sequence"] >= export.last_sequence:
        rows = [row for row in rows if row["sequence"] <= export.last_sequence]
        is_last = True
    return Rows(rows, cursor, is_last)


def read_page(
    schema: GraphQLSchema, document: str, variables: dict[str, Any], caller: Caller
) -> dict[str, Any]:
    prepared = prepare(schema, document, None, variables)
    result = execute(prepared, Reader(caller), monotonic() + PAGE_SECONDS)
    for error in result.errors or ():
        raise error.original_error or error
    assert result.data is not None
    found = result.data
    if "parent" in found:
        found = found["parent"]
        if found is None:
            raise NotFound(
                "The exported object no longer exists, or you may no longer see it."
            )
        found = found.get("capitalizationTable", found)
    page: dict[str, Any] = found["page"]
    return page

"""Errors that partners can act on. Each class carries its published code."""

from typing import Any


class PartnerAPIError(Exception):
    """A refusal whose text and code reach the partner.

    `code` is the contract; the message is for people and may change; `details`
    become further members of the error's `extensions`. `example` is a document that
    gets the error, or says what does; `remedy` is what to do about it.
    """

    code: str
    example: str
    remedy: str

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class ParseFailed(PartnerAPIError):
    """The document is not valid GraphQL; `locations` show where."""

    code = "GRAPHQL_PARSE_FAILED"
    example = "{ issuers("
    remedy = "Correct the document at `locations`."


class ValidationFailed(PartnerAPIError):
    """The document does not match the schema: a field, an argument or a literal is
    wrong.
    """

    code = "GRAPHQL_VALIDATION_FAILED"
    example = "{ issuers { price } }"
    remedy = (
        "Compare the document with `/docs/schema`; a generated client checks "
        "documents before sending them."
    )


class OperationResolutionFailure(PartnerAPIError):
    """`operationName` matches no operation, or is missing although there are several,
    or the schema does not support this kind of operation.
    """

    code = "OPERATION_RESOLUTION_FAILURE"
    example = "query A { __typename } query B { __typename }"
    remedy = "Name one of the document's operations in `operationName`."


class BadUserInput(PartnerAPIError):
    """A variable or an argument is invalid; `argument` or `variable` names it, with the
    path inside it.
    """

    code = "BAD_USER_INPUT"
    example = "{ issuers(first: 101) { totalCount } }"
    remedy = "Correct the value named by `argument` or `variable`."


class InvalidCursor(PartnerAPIError):
    """A cursor is damaged or belongs to another list; `argument` names it."""

    code = "INVALID_CURSOR"
    example = '{ issuers(after: "x") { totalCount } }'
    remedy = "Pass an unchanged cursor of the same list, or start with the first page."


class MaxDepthExceeded(PartnerAPIError):
    """Fields, fragments or values are nested too deep."""

    code = "MAX_DEPTH_EXCEEDED"
    example = "fields in 13 levels"
    remedy = "Query the inner objects by id in a second request."


class MaxCostExceeded(PartnerAPIError):
    """The request costs more than one request may; `fields` names the costliest."""

    code = "MAX_COST_EXCEEDED"
    example = "{ issuers { nodes { tokens(first: 100) { nodes { symbol } } } } }"
    remedy = "Request smaller pages, or fewer nested lists."


class MaxAliasesExceeded(PartnerAPIError):
    """Too many aliases, or one response name used too often."""

    code = "MAX_ALIASES_EXCEEDED"
    example = "101 aliases in a document"
    remedy = "Use lists, such as `nodes(ids:)`, or send several requests."


class MaxFragmentsExceeded(PartnerAPIError):
    """Too many fragment spreads."""

    code = "MAX_FRAGMENTS_EXCEEDED"
    example = "51 fragment spreads in a document"
    remedy = "Write out the fields, or send several requests."


class MaxTokensExceeded(PartnerAPIError):
    """The document is too long."""

    code = "MAX_TOKENS_EXCEEDED"
    example = "2,001 tokens in a document"
    remedy = "Pass long lists as variables, or send several requests."


class MaxMutationsExceeded(PartnerAPIError):
    """The operation has more than one root mutation field."""

    code = "MAX_MUTATIONS_EXCEEDED"
    example = "two `updateAccountStatus` in one `mutation`"
    remedy = "Send each mutation in a separate request, with its own `Idempotency-Key`."


class NotFound(PartnerAPIError):
    """A mutation refers to an object that does not exist or does not belong to the
    caller.
    """

    code = "NOT_FOUND"
    example = (
        'mutation { updateAccountStatus(input: {accountID: "Account", status: '
        "CLOSED}) { changedAt } }"
    )
    remedy = "Check the id named by `argument`."


MUTATION_TOO_LONG = (
    "The mutation took too long and was cancelled before its commit: nothing was "
    "changed. Send the same request again after Retry-After, with the same "
    "Idempotency-Key."
)


class RequestTimeout(PartnerAPIError):
    """The request took too long, or waited too long for a lock, and was ended. A
    mutation changed nothing: `outcome` is `NOT_COMMITTED`. Only `cancelOrders` with
    `block` may be `PARTLY_COMMITTED`: the block stands, and some orders are still open.
    """

    code = "TIMEOUT"
    example = "an account locked for 2 seconds by another change"
    remedy = (
        "Retry after `Retry-After`, with the same `Idempotency-Key` for a mutation; "
        "request smaller pages if the query was long."
    )


class NotNow(PartnerAPIError):
    """The cash of a client settles an offering just now. A mutation changed nothing:
    send it with the same `Idempotency-Key` after `Retry-After`.
    """

    code = "UNAVAILABLE"
    example = "an order of a client during the settlement of an offering"
    remedy = (
        "Send it again after `Retry-After`, with the same `Idempotency-Key` for a "
        "mutation."
    )

    @classmethod
    def for_seconds(cls, seconds: int) -> "NotNow":
        return cls(
            "An offering is being settled with the cash of the client, or of one whose "
            f"order this would meet. Nothing was changed; try again in {seconds} s.",
            retryAfter=seconds,
        )


INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"

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
    """The text is not GraphQL; `locations` tell where it stops being so."""

    code = "GRAPHQL_PARSE_FAILED"
    example = "{ issuers("
    remedy = "Correct the text at `locations`."


class ValidationFailed(PartnerAPIError):
    """The document does not fit the schema: a field, an argument, a literal."""

    code = "GRAPHQL_VALIDATION_FAILED"
    example = "{ issuers { price } }"
    remedy = (
        "Compare the document with `/docs/schema`; a client generated from the "
        "schema does so before it sends."
    )


class OperationResolutionFailure(PartnerAPIError):
    """`operationName` names none, or is missing where there are several, or the schema
    has no such operations."""

    code = "OPERATION_RESOLUTION_FAILURE"
    example = "query A { __typename } query B { __typename }"
    remedy = "Name one of the document's operations in `operationName`."


class BadUserInput(PartnerAPIError):
    """A variable or an argument has a refused value; `argument` or `variable` names
    which, and the place inside it."""

    code = "BAD_USER_INPUT"
    example = "{ issuers(first: 101) { totalCount } }"
    remedy = "Correct the value that `argument` or `variable` names."


class InvalidCursor(PartnerAPIError):
    """A cursor is damaged or comes from another list; `argument` names it."""

    code = "INVALID_CURSOR"
    example = '{ issuers(after: "x") { totalCount } }'
    remedy = "Pass a cursor of the same list, unchanged, or begin with the first page."


class MaxDepthExceeded(PartnerAPIError):
    """Fields, fragments or values are nested too deep."""

    code = "MAX_DEPTH_EXCEEDED"
    example = "fields in 13 levels"
    remedy = "Ask for the inner objects by their ids, in a second request."


class MaxCostExceeded(PartnerAPIError):
    """The request costs more than one request may cost; `fields` names what does."""

    code = "MAX_COST_EXCEEDED"
    example = "{ issuers { nodes { tokens(first: 100) { nodes { symbol } } } } }"
    remedy = "Ask for smaller pages, or for fewer lists inside lists."


class MaxAliasesExceeded(PartnerAPIError):
    """Too many aliases, or one response name too often."""

    code = "MAX_ALIASES_EXCEEDED"
    example = "101 aliases in a document"
    remedy = "Ask for lists, such as `nodes(ids:)`, or send several requests."


class MaxFragmentsExceeded(PartnerAPIError):
    """Too many fragment spreads."""

    code = "MAX_FRAGMENTS_EXCEEDED"
    example = "51 fragment spreads in a document"
    remedy = "Write the fields out, or send several requests."


class MaxTokensExceeded(PartnerAPIError):
    """The document is too long."""

    code = "MAX_TOKENS_EXCEEDED"
    example = "2,001 tokens in a document"
    remedy = "Pass long lists as variables, or send several requests."


class MaxMutationsExceeded(PartnerAPIError):
    """The operation has more than one root mutation field."""

    code = "MAX_MUTATIONS_EXCEEDED"
    example = "two `updateAccountStatus` in one `mutation`"
    remedy = (
        "Send each mutation in a request of its own, with its own `Idempotency-Key`."
    )


class NotFound(PartnerAPIError):
    """A mutation names an object that does not exist, or that is not the caller's."""

    code = "NOT_FOUND"
    example = (
        'mutation { updateAccountStatus(input: {accountID: "Account", status: '
        "CLOSED}) { changedAt } }"
    )
    remedy = "Read the id again: `argument` names it."


MUTATION_TOO_LONG = (
    "The mutation took too long and was ended before its commit: nothing was changed. "
    "Send the same request again after Retry-After, with the same Idempotency-Key."
)


class RequestTimeout(PartnerAPIError):
    """The request took too long and was ended, or what it changes did not come free.
    Of a mutation nothing was changed: `outcome` is `NOT_COMMITTED`."""

    code = "TIMEOUT"
    example = "an account that another change holds for 2 seconds"
    remedy = (
        "Send it again after `Retry-After`, a mutation with the same "
        "`Idempotency-Key`; ask for smaller pages where it was long."
    )


INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"

"""Errors that partners can act on. Each class carries its published code."""

from typing import Any


class PartnerAPIError(Exception):
    """A refusal whose text and code reach the partner.

    `code` is the contract; the message is for people and may change; `details`
    become further members of the error's `extensions`.
    """

    code: str

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.details = details


class ParseFailed(PartnerAPIError):
    """The text is not GraphQL; `locations` tell where it stops being so."""

    code = "GRAPHQL_PARSE_FAILED"


class ValidationFailed(PartnerAPIError):
    """The document does not fit the schema: a field, an argument, a literal."""

    code = "GRAPHQL_VALIDATION_FAILED"


class OperationResolutionFailure(PartnerAPIError):
    """`operationName` names none, or is missing where there are several, or the schema
    has no such operations."""

    code = "OPERATION_RESOLUTION_FAILURE"


class BadUserInput(PartnerAPIError):
    """A variable or an argument has a refused value; `argument` names which."""

    code = "BAD_USER_INPUT"


class InvalidCursor(PartnerAPIError):
    """A cursor is damaged or comes from another list."""

    code = "INVALID_CURSOR"


class MaxDepthExceeded(PartnerAPIError):
    """Fields are nested too deep."""

    code = "MAX_DEPTH_EXCEEDED"


class MaxCostExceeded(PartnerAPIError):
    """The request costs more than one request may cost."""

    code = "MAX_COST_EXCEEDED"


class MaxAliasesExceeded(PartnerAPIError):
    """Too many aliases, or one response name too often."""

    code = "MAX_ALIASES_EXCEEDED"


class MaxFragmentsExceeded(PartnerAPIError):
    """Too many fragment spreads."""

    code = "MAX_FRAGMENTS_EXCEEDED"


class MaxTokensExceeded(PartnerAPIError):
    """The document is too long."""

    code = "MAX_TOKENS_EXCEEDED"


class MaxMutationsExceeded(PartnerAPIError):
    """The operation has more than one root mutation field."""

    code = "MAX_MUTATIONS_EXCEEDED"


class NotFound(PartnerAPIError):
    """A mutation names an object that does not exist, or that is not the caller's."""

    code = "NOT_FOUND"


class RequestTimeout(PartnerAPIError):
    """The request took too long and was ended."""

    code = "TIMEOUT"


INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"

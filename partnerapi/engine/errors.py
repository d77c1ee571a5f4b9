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
    code = "GRAPHQL_PARSE_FAILED"


class ValidationFailed(PartnerAPIError):
    code = "GRAPHQL_VALIDATION_FAILED"


class OperationResolutionFailure(PartnerAPIError):
    code = "OPERATION_RESOLUTION_FAILURE"


class BadUserInput(PartnerAPIError):
    code = "BAD_USER_INPUT"


class InvalidCursor(PartnerAPIError):
    code = "INVALID_CURSOR"


class MaxDepthExceeded(PartnerAPIError):
    code = "MAX_DEPTH_EXCEEDED"


class MaxCostExceeded(PartnerAPIError):
    code = "MAX_COST_EXCEEDED"


class MaxAliasesExceeded(PartnerAPIError):
    code = "MAX_ALIASES_EXCEEDED"


class MaxFragmentsExceeded(PartnerAPIError):
    code = "MAX_FRAGMENTS_EXCEEDED"


class MaxTokensExceeded(PartnerAPIError):
    code = "MAX_TOKENS_EXCEEDED"


class RequestTimeout(PartnerAPIError):
    code = "TIMEOUT"


INTERNAL_SERVER_ERROR = "INTERNAL_SERVER_ERROR"

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


class BadUserInput(PartnerAPIError):
    code = "BAD_USER_INPUT"


class InvalidCursor(PartnerAPIError):
    code = "INVALID_CURSOR"

"""The entries of `errors`, as partners see them (`/docs/errors`)."""

import logging
from typing import Any

from graphql import GraphQLError

from partnerapi.core.errors import (
    INTERNAL_SERVER_ERROR,
    BadUserInput,
    PartnerAPIError,
    RequestTimeout,
)
from partnerapi.core.postgresql.faults import took_too_long
from partnerapi.graphql.culprits import name_of_argument
from partnerapi.graphql.documents import CheckEnded

logger = logging.getLogger(__name__)

MAX_ERRORS = 20
MAX_MESSAGE = 500
"""Characters of a message: what it repeats of a request may be long."""
TOO_LONG = (
    "A statement, or the wait for what somebody else changes, took too long and was "
    "ended; nothing was changed. Ask again, for smaller pages where it was long."
)
MASKED = "Something went wrong on our side. Quote the requestId if you report it."


def error_entries(errors: list[GraphQLError], request_id: str) -> list[dict[str, Any]]:
    """The first twenty errors, and one entry with the number of the others.

    A check that ended early has not counted the others: its own last entry says so.
    """
    if errors and isinstance(errors[-1], CheckEnded):
        return [error_entry(error, request_id) for error in errors]
    entries = [error_entry(error, request_id) for error in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        rest = len(errors) - MAX_ERRORS
        extensions = {**entries[-1]["extensions"], "omittedErrors": rest}
        message = f"{rest} more error{'s' if rest > 1 else ''}."
        entries.append({"message": message, "extensions": extensions})
    return entries


def error_entry(error: GraphQLError, request_id: str) -> dict[str, Any]:
    entry = error.formatted
    cause = error.original_error
    if took_too_long(cause):
        entry["message"] = TOO_LONG
        cause = RequestTimeout(TOO_LONG)
    if isinstance(cause, PartnerAPIError):
        extensions = {"code": cause.code, **cause.details}
    elif error.extensions:
        extensions = dict(error.extensions)
    elif cause is None or isinstance(cause, GraphQLError):
        # An error of graphql-core: the variable of an argument does not fit.
        extensions = {"code": BadUserInput.code, **name_of_argument(error)}
    else:
        logger.error("request %s failed at %s", request_id, error.path, exc_info=cause)
        entry["message"] = MASKED
        extensions = {"code": INTERNAL_SERVER_ERROR}
    if len(entry["message"]) > MAX_MESSAGE:
        entry["message"] = entry["message"][:MAX_MESSAGE] + "…"
    return {**entry, "extensions": {**extensions, "requestId": request_id}}  # type: ignore[dict-item]


def refusal_entry(
    code: str, message: str, request_id: str, **details: Any
) -> dict[str, Any]:
    extensions = {"code": code, **details, "requestId": request_id}
    return {"message": message, "extensions": extensions}

"""The entries of `errors`, as partners see them (`/docs/errors`)."""

import logging
from typing import Any

from django.conf import settings
from graphql import GraphQLError

from partnerapi.core.errors import (
    INTERNAL_SERVER_ERROR,
    MUTATION_TOO_LONG,
    BadUserInput,
    MaxCostExceeded,
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
    "A statement, or the wait for a lock, took too long and was cancelled. Send the "
    "request again; if the query was long, request smaller pages."
)
NOT_COMMITTED = "NOT_COMMITTED"
"""The outcome of a mutation whose transaction was rolled back."""
MASKED = "Something went wrong on our side. Quote the requestId if you report it."


def error_entries(
    errors: list[GraphQLError], request_id: str, is_mutation: bool = False
) -> list[dict[str, Any]]:
    """The first twenty errors, and one entry with the number of the others.

    A check that ended early has not counted the others: its own last entry says so.
    """
    if errors and isinstance(errors[-1], CheckEnded):
        return [error_entry(error, request_id, is_mutation) for error in errors]
    told = errors[:MAX_ERRORS]
    entries = [error_entry(error, request_id, is_mutation) for error in told]
    if len(errors) > MAX_ERRORS:
        rest = len(errors) - MAX_ERRORS
        extensions = {**entries[-1]["extensions"], "omittedErrors": rest}
        message = f"{rest} more error{'s' if rest > 1 else ''}."
        entries.append({"message": message, "extensions": extensions})
    return entries


def error_entry(
    error: GraphQLError, request_id: str, is_mutation: bool
) -> dict[str, Any]:
    entry = error.formatted
    cause = error.original_error
    if took_too_long(cause):
        text = MUTATION_TOO_LONG if is_mutation else TOO_LONG
        entry["message"], cause = text, RequestTimeout(text)
    if isinstance(cause, PartnerAPIError):
        extensions = {"code": cause.code, **cause.details}
        if is_mutation and isinstance(cause, RequestTimeout):
            extensions.setdefault("outcome", NOT_COMMITTED)
        if isinstance(cause, MaxCostExceeded) and error.path:
            extensions["fields"] = prefix_paths(cause.details["fields"], error.path)
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
    return {**entry, "extensions": with_references(extensions, request_id)}  # type: ignore[dict-item]


def with_references(extensions: dict[str, Any], request_id: str) -> dict[str, Any]:
    """The members of an error with the request's id and the page of its code."""
    page = f"{settings.PARTNER_API_SITE}/docs/schema/error.{extensions['code']}"
    return {**extensions, "docUrl": page, "requestId": request_id}


def prefix_paths(
    fields: list[dict[str, Any]], path: list[str | int]
) -> list[dict[str, Any]]:
    """Fields that the field at a path names, by their own paths of response names."""
    above = [name for name in path[:-1] if isinstance(name, str)]
    return [field | {"path": ".".join([*above, field["path"]])} for field in fields]


def refusal_entry(
    code: str, message: str, request_id: str, **details: Any
) -> dict[str, Any]:
    extensions = with_references({"code": code, **details}, request_id)
    return {"message": message, "extensions": extensions}

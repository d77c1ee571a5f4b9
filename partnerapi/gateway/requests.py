"""Reads the headers and the body of a request, or refuses them."""

import re
from dataclasses import dataclass
from socket import socket
from time import monotonic
from types import NoneType
from typing import Any

import orjson
import uuid_utils
from django.conf import settings
from django.http import HttpRequest
from gunicorn.http.errors import ParseException

from partnerapi.gateway.refusals import (
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    PayloadTooLarge,
    UnsupportedMediaType,
)

READ_SECONDS = 10
PIECE_BYTES = 1_024
MAX_HEADER_LENGTH = 1_000
"""Characters of a header that is read item by item."""
JSON = "application/json"
GRAPHQL_RESPONSE = "application/graphql-response+json"


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """The body of a request; `variables` are as they were sent."""

    query: str
    variables: dict[str, Any]
    operation_name: str | None


def check_method(request: HttpRequest) -> None:
    if request.method != "POST":
        raise MethodNotAllowed(
            "Send a POST request with a JSON body. (In urql, set `preferGetMethod: "
            "false`.)",
            headers={"Allow": "POST"},
        )


def check_content_type(request: HttpRequest) -> None:
    header = request.META.get("CONTENT_TYPE", "")[:MAX_HEADER_LENGTH]
    media_type, *parameters = header.lower().split(";")
    charset = "utf-8"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset":
            charset = value.strip().strip('"')
    if media_type.strip() != JSON or charset not in ("utf-8", "utf8"):
        raise UnsupportedMediaType(
            "Send the body as JSON in UTF-8, with the header `Content-Type: "
            "application/json`."
        )


def negotiate(request: HttpRequest) -> str | None:
    """The answer's media type: JSON if `Accept` admits it, at any weight.

    Only a client that excludes JSON gets application/graphql-response+json. None: the
    client admits neither, in what is read of the header.
    """
    header = request.META.get("HTTP_ACCEPT", "")[:MAX_HEADER_LENGTH].strip()
    if not header or admits(header, JSON):
        return JSON
    return GRAPHQL_RESPONSE if admits(header, GRAPHQL_RESPONSE) else None


def check_accept(media_type: str | None) -> None:
    if media_type is None:
        raise NotAcceptable(
            "Responses are application/json; allow it in the `Accept` header."
        )


def admits(header: str, media_type: str) -> bool:
    """Whether an Accept header gives a type a weight above 0 (RFC 9110, 12.5.1).

    The most specific range that matches the type decides.
    """
    kind = media_type.partition("/")[0]
    ranges = {"*/*": 1, f"{kind}/*": 2, media_type: 3}
    best, weight = 0, 0.0
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        if ranges.get(name, 0) > best:
            best, weight = ranges[name], quality(parameters)
    return weight > 0


def quality(parameters: list[str]) -> float:
    for parameter in parameters:
        if match := re.fullmatch(r"q\s*=\s*([01](?:\.[0-9]{0,3})?)", parameter):
            return float(match[1])
    return 1.0


def parse_body(data: bytes) -> GraphQLRequest:
    """Check the JSON object; null members count as absent.

    Raises:
        BadRequest: the body is not JSON, no object, or a member has a wrong type.
    """
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The body is not JSON: {error}.") from error
    if isinstance(body, list):
        raise BadRequest("The body is an array; send one operation per request.")
    if not isinstance(body, dict):
        raise BadRequest("The body is not a JSON object with a member `query`.")
    query = body.get("query")
    if not isinstance(query, str):
        raise BadRequest("The member `query` is missing or not a string.")
    for name, kind, article in (
        ("variables", dict, "an object"),
        ("operationName", str, "a string"),
        ("extensions", dict, "an object"),
    ):
        if body.get(name) is not None and not isinstance(body[name], kind):
            raise BadRequest(f"The member `{name}` is not {article}.")
    return GraphQLRequest(query, body.get("variables") or {}, body.get("operationName"))


def begun_at(request: HttpRequest) -> float:
    """Since when the request can be answered, a time of `time.monotonic`.

    Our worker knows when its last byte was there; the turn may have come later.
    """
    whole_at: float | None
    whole_at = getattr(request.META.get("gunicorn.socket"), "whole_at", None)
    return whole_at or monotonic()


def is_late(request: HttpRequest) -> bool:
    """Whether its deadline passed in our worker before it had a turn."""
    return getattr(request.META.get("gunicorn.socket"), "is_late", False)


def is_unread(request: HttpRequest) -> bool:
    """Whether our worker refused to read the body: its budget was spent."""
    return getattr(request.META.get("gunicorn.socket"), "unread", False)


def hold(request: HttpRequest, seconds: float) -> None:
    """Delay the answer where our worker can do that without a thread."""
    have_wait = getattr(request.META.get("gunicorn.socket"), "hold", None)
    if have_wait:
        have_wait(seconds)


@dataclass(frozen=True, slots=True)
class Wait:
    """What a request waits for: an event of its partner behind number `seen`.

    `seconds` is how long, from when it came; as many may wait of a `key`, and of an
    `address`.
    """

    seconds: int
    partner_id: str
    seen: int
    key: str
    address: str


def park(request: HttpRequest, wait: Wait) -> bool:
    """Have our worker keep the request, without a thread, until there is an event.

    It comes anew then, or when its time is over. False: it must be answered now.
    """
    park_with = getattr(request.META.get("gunicorn.socket"), "park", None)
    return bool(park_with and park_with(wait))


def read_bytes(request: HttpRequest) -> bytes:
    """The body to its end.

    Raises:
        PayloadTooLarge: the body, chunked or not, has too many bytes.
        BadRequest: it could not be read to its end.
    """
    maximum = settings.PARTNER_API_MAX_BODY_BYTES
    environ = request.META
    try:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > maximum:
            raise PayloadTooLarge(f"The body has more than {maximum} bytes.")
        # A chunked body has no length: Django would read nothing of it.
        chunked = environ.get("wsgi.input_terminated") and not length
        wanted = maximum + 1 if chunked else length
        # Our worker hands over what it holds, and not a socket.
        whole = not isinstance(environ.get("gunicorn.socket"), socket | NoneType)
        piece = wanted if whole else PIECE_BYTES
        body = read_in_time(environ["wsgi.input"], wanted, piece)
    except (ParseException, OSError, ValueError) as error:
        raise BadRequest("The body could not be read to its end.") from error
    if len(body) > maximum:
        raise PayloadTooLarge(f"The body has more than {maximum} bytes.")
    if len(body) < length:
        raise BadRequest(f"The body ends after {len(body)} of its {length} bytes.")
    return body


def read_in_time(stream: Any, wanted: int, piece_bytes: int = PIECE_BYTES) -> bytes:
    """So many bytes of a stream, or all that it has.

    The clock is read between pieces: a server that waits for a piece without end waits
    here, too.

    Raises:
        BadRequest: they did not come within READ_SECONDS.
    """
    deadline = monotonic() + READ_SECONDS
    body = bytearray()
    while len(body) < wanted:
        piece = stream.read(min(piece_bytes, wanted - len(body)))
        if not piece:
            break
        body += piece
        if monotonic() > deadline:
            raise BadRequest(f"The body did not come within {READ_SECONDS} seconds.")
    return bytes(body)


SAFE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id_of(request: HttpRequest) -> str:
    """The client's own request id, if it is short and safe to log, or a new one."""
    own: str = request.META.get("HTTP_X_REQUEST_ID", "")
    return own if SAFE_ID.fullmatch(own) else str(uuid_utils.uuid7())


def address_of(request: HttpRequest) -> str:
    """The client's address, as the trusted proxy farthest from us saw it."""
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return seen_address(str(request.META.get("REMOTE_ADDR", "")), forwarded_for)


def seen_address(remote: str, forwarded_for: str) -> str:
    """The client's address, of that of the connection and those that proxies tell."""
    proxies = settings.PARTNER_API_TRUSTED_PROXIES
    if proxies:
        seen = [part.strip() for part in forwarded_for.split(",") if part.strip()]
        if len(seen) >= proxies:
            return seen[-proxies]
    return remote

"""Why a request is refused before it is executed: a status, a code, headers."""

from typing import Any

from partnerapi.core.errors import PartnerAPIError


class Refusal(PartnerAPIError):
    """A refusal with an HTTP status of its own; `headers` go out with it."""

    status = 400

    def __init__(
        self, message: str, *, headers: dict[str, str] | None = None, **details: Any
    ) -> None:
        super().__init__(message, **details)
        self.headers = headers or {}


class BadRequest(Refusal):
    """The body is not a JSON object of `query`, `variables` and `operationName`."""

    code = "BAD_REQUEST"
    example = "a body that is `[]`"
    remedy = 'Send an object such as `{"query": "{ __typename }"}`.'


class MethodNotAllowed(Refusal):
    """Operations are sent by POST."""

    code, status = "METHOD_NOT_ALLOWED", 405
    example = "`GET /graphql`"
    remedy = "Send `POST`; in urql, set `preferGetMethod: false`."


class NotAcceptable(Refusal):
    """`Accept` excludes every media type of the response."""

    code, status = "NOT_ACCEPTABLE", 406
    example = "`Accept: text/html`"
    remedy = "Admit `application/json`."


class PayloadTooLarge(Refusal):
    """The body has too many bytes."""

    code, status = "PAYLOAD_TOO_LARGE", 413
    example = "a body of 1 MiB and a byte"
    remedy = "Send several requests."


class UnsupportedMediaType(Refusal):
    """The content type is not `application/json` in UTF-8."""

    code, status = "UNSUPPORTED_MEDIA_TYPE", 415
    example = "`Content-Type: text/plain`"
    remedy = "Send `Content-Type: application/json`."


class Throttled(Refusal):
    """The budget is spent. If `reason` is `POINTS`, the request costs more than the
    budget holds; only its bytes and tokens were charged. If it is `TIME`, the server
    time of this minute is spent; nothing was read or charged. If it is `KILL_SWITCH`,
    the key has sent that header ten times in a minute. `Retry-After` says when to send
    it again."""

    code, status = "THROTTLED", 429
    example = "a request of an account that has taken 10 seconds in this minute"
    remedy = (
        "Wait the seconds in `Retry-After`; `X-RateLimit-Remaining` and "
        "`X-RateLimit-Time-Remaining` show what is left."
    )


class InvalidKey(Refusal):
    """The key is malformed, unknown, wrong, revoked or expired."""

    code, status = "UNAUTHENTICATED", 401
    example = "a key that was revoked, or a mutation without a key"
    remedy = "Send a live key; do not send a refused one again."


class InsecureTransport(Refusal):
    """A key came over plain HTTP, where others can read it, and was not checked. Have
    it revoked, and send the next one over HTTPS."""

    code, status = "INSECURE_TRANSPORT", 403
    example = "`X-Token-Auth` in a request to `http://`"
    remedy = "Have the key revoked; send a new one over HTTPS only."


class AnswerNotReplayed(Refusal):
    """The first response of the Idempotency-Key needed a scope (`requiredScope`) that
    the API key does not have. The mutation is not executed again."""

    code, status = "FORBIDDEN", 403
    example = "a retry with a key that has lost the scope"
    remedy = "Retry it with a key that has the scope, or read the object instead."


class Unavailable(Refusal):
    """The service cannot answer now: its database is unreachable, read-only or full, or
    refuses access, or no standby has confirmed a change. If `outcome` is `UNKNOWN`, a
    mutation may have been executed: retry with the same `Idempotency-Key`."""

    code, status = "UNAVAILABLE", 503
    example = "any request while the database restarts"
    remedy = (
        "Send it again after `Retry-After`, with the same `Idempotency-Key` for a "
        "mutation."
    )

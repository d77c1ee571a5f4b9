"""Why a request is refused before it is executed: a status, a code, headers."""

from partnerapi.engine.errors import PartnerAPIError


class Refusal(PartnerAPIError):
    """A refusal with an HTTP status of its own; `headers` go out with it."""

    status = 400

    def __init__(self, message: str, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.headers = headers or {}


class BadRequest(Refusal):
    code = "BAD_REQUEST"


class MethodNotAllowed(Refusal):
    code, status = "METHOD_NOT_ALLOWED", 405


class NotAcceptable(Refusal):
    code, status = "NOT_ACCEPTABLE", 406


class PayloadTooLarge(Refusal):
    code, status = "PAYLOAD_TOO_LARGE", 413


class UnsupportedMediaType(Refusal):
    code, status = "UNSUPPORTED_MEDIA_TYPE", 415


class Throttled(Refusal):
    code, status = "THROTTLED", 429


class InvalidKey(Refusal):
    code, status = "UNAUTHENTICATED", 401

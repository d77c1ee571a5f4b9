"""Bodies of answers as gzip (RFC 1952), where the client admits it.

The length of such a body gives no secret away, as BREACH has pages do: that takes a
browser which adds someone's credentials to an attacker's request, and a secret beside
the attacker's text. A key goes in a header of its own, which no browser adds by itself,
and no answer holds one. Pages of staff are not compressed.
"""

import gzip
from functools import lru_cache
from hashlib import sha256

from django.http import HttpRequest, HttpResponse

from partnerapi.gateway.requests import MAX_HEADER_LENGTH, quality

LEAST_BYTES = 1024
ANSWER_LEVEL = 1
"""The next levels take twice the CPU and more, for a tenth of the bytes."""
PAGE_LEVEL = 9
"""A page is compressed once in a process."""
MOST_PAGES = 100


def admits_gzip(request: HttpRequest) -> bool:
    """Whether Accept-Encoding gives gzip a weight above 0 (RFC 9110, 12.5.3)."""
    weights = {}
    header = request.META.get("HTTP_ACCEPT_ENCODING", "")[:MAX_HEADER_LENGTH]
    for item in header.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        weights[name] = quality(parameters)
    return weights.get("gzip", weights.get("*", 0)) > 0


def compress(request: HttpRequest, response: HttpResponse) -> None:
    """Give a response the shorter body, in the thread that made the body."""
    if len(response.content) < LEAST_BYTES:
        return
    response["Vary"] = "Accept-Encoding"
    if admits_gzip(request):
        response.content = gzip.compress(response.content, ANSWER_LEVEL, mtime=0)
        response["Content-Encoding"] = "gzip"
        response["Content-Length"] = str(len(response.content))


@lru_cache(MOST_PAGES)
def representation(content: str, compressed: bool) -> tuple[bytes, str]:
    """The body of a page that is the same for all callers, and its ETag."""
    body = content.encode()
    if compressed:
        body = gzip.compress(body, PAGE_LEVEL, mtime=0)
    return body, f'"{sha256(body).hexdigest()}"'

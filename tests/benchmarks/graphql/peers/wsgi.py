from collections.abc import Callable

from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, HttpResponse


def with_content_length(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Spares a peer the chunks that it would answer in without this header."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Content-Length"] = str(len(response.content))
        return response

    return respond


application = get_wsgi_application()

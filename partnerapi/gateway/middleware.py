"""Answers the API before the middleware that only pages and the back office need."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from partnerapi.gateway.requests import request_id_of


def answer_graphql_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer /graphql at once; give every other response its X-Request-Id."""
    graphql = resolve("/graphql").func

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path == "/graphql":
            answer: HttpResponse = graphql(request)
            return answer
        response = get_response(request)
        response["X-Request-Id"] = request_id_of(request)
        return response

    return middleware

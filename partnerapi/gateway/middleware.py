"""Answers the API before the middleware that only pages and the back office need."""

from collections.abc import Callable
from time import monotonic

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from partnerapi.core.postgresql.lending import until
from partnerapi.gateway.requests import request_id_of

PAGE_SECONDS = 60
"""The longest that a page may use the database: staff import files."""


def answer_graphql_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer /graphql at once; give every other response its X-Request-Id."""
    serves_api = settings.PARTNER_API_SERVES != "admin"
    graphql = resolve("/graphql").func if serves_api else None

    def middleware(request: HttpRequest) -> HttpResponse:
        if graphql and request.path == "/graphql":
            with until(monotonic() + settings.PARTNER_API_MAX_SECONDS):
                answer: HttpResponse = graphql(request)
            return answer
        with until(monotonic() + PAGE_SECONDS):
            response = get_response(request)
        response["X-Request-Id"] = request_id_of(request)
        return response

    return middleware

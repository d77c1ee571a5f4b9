"""Answers the API before the middleware that only pages and the back office need."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from partnerapi.core.postgresql.lending import until
from partnerapi.gateway.entrance import GRAPHQL, answer_in_time
from partnerapi.gateway.requests import begun_at, request_id_of

STAFF_SECONDS = 60
"""The longest that a page of the back office may use the database: it imports files."""
PROBES = ("/healthz", "/readyz")
"""They need no database's connection of the request's own, no host name, and no HTTPS:
who probes this process knows its address only."""


def answer_graphql_first(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer /graphql and probes at once; give other responses their X-Request-Id."""
    serves_api = settings.PARTNER_API_SERVES != "admin"
    graphql = resolve(GRAPHQL).func if serves_api else None
    probes = {path: resolve(path).func for path in PROBES}

    def middleware(request: HttpRequest) -> HttpResponse:
        if graphql and request.path == GRAPHQL:
            return answer_in_time(graphql, request)
        if request.path in probes:
            probed: HttpResponse = probes[request.path](request)
            return probed
        is_staffs = request.path.startswith("/admin/")
        seconds = STAFF_SECONDS if is_staffs else settings.PARTNER_API_MAX_SECONDS
        with until(begun_at(request) + seconds):
            response = get_response(request)
        response["X-Request-Id"] = request_id_of(request)
        return response

    return middleware

"""The way of a request of /graphql into the process, past Django's handler.

The API needs none of Django's middleware or exception pages: its view answers whatever
happens. Of the signals it needs that borrowed database connections are given back.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse

from partnerapi.core.postgresql.lending import until
from partnerapi.gateway.requests import begun_at

GRAPHQL = "/graphql"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
View = Callable[[HttpRequest], HttpResponse]


def answer_in_time(graphql: View, request: HttpRequest) -> HttpResponse:
    """The view's answer; its statements end with the request's time."""
    with until(begun_at(request) + settings.PARTNER_API_MAX_SECONDS):
        return graphql(request)


def graphql_first(graphql: View, others: Application) -> Application:
    """A WSGI application that answers /graphql itself, and leaves other paths."""

    def application(
        environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if environ.get("PATH_INFO") != GRAPHQL:
            return others(environ, start_response)
        try:
            response = answer_in_time(graphql, WSGIRequest(environ))
        finally:
            close_old_connections()
        status = f"{response.status_code} {response.reason_phrase}"
        start_response(status, list(response.items()))
        return [response.content]

    return application

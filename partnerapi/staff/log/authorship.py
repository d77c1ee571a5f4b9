"""Tells the database which member of staff writes, from which page."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from django.http import HttpRequest, HttpResponse

from partnerapi.core.authors import written_by
from partnerapi.core.database import confirm
from partnerapi.gateway.requests import request_id_of


def written_by_user(request: HttpRequest) -> AbstractContextManager[None]:
    """What is written inside is by the member of staff who sent the request."""
    who = str(request.user.get_username())
    return written_by(who, f"page {request.path}", request_id_of(request))


def tell_author(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Record the author of each change in the back office.

    No page reports a change that a failover could lose.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith("/admin/") or request.method != "POST":
            return get_response(request)
        if not request.user.is_authenticated:
            return get_response(request)
        with written_by_user(request):
            response = get_response(request)
            # "It was done before" is an answer, too.
            confirm()
        return response

    return middleware

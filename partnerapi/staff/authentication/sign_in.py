"""Staff sign in with a password; guesses are slowed down, locked out and recorded.

A process handles one sign-in at a time, and a few wait. An address pays for each from
its budget. Each failure writes a row and, sparingly, a line of the log.
"""

import logging
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

from django.conf import settings
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from partnerapi.core.addresses import address_of as read_address
from partnerapi.core.addresses import source
from partnerapi.core.postgresql.lending import rest
from partnerapi.core.sparing_log import SparingLog
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.refusals import Throttled
from partnerapi.gateway.requests import address_of, hold
from partnerapi.staff.authentication.models import FailedSignIn
from partnerapi.staff.authentication.passwords import PasswordsBusy, turn

logger = logging.getLogger(__name__)
log = SparingLog(logger)

PATH = "/admin/login/"
HELD_SECONDS = 1.0
"""Otherwise a caller that repeats refused sign-ins would take the processor from the
API."""
LEAST_SECONDS = 0.25
"""Between the beginnings of two sign-ins of a process; who is locked out costs it no
digest, and would else be answered as often as it likes."""


def limit_sign_ins(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Charge each sign-in, and queue it behind the others."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path != PATH or request.method != "POST":
            return get_response(request)
        try:
            Bill(request, None).charge_refusal()
            stand_aside(request)
            with turn.taken():
                begun = monotonic()
                response = get_response(request)
                rest()
                sleep(max(0.0, begun + LEAST_SECONDS - monotonic()))
                return response
        except Throttled as refusal:
            seconds, status = refusal.headers["Retry-After"], refusal.status
        except PasswordsBusy:
            seconds, status = "1", 503
        response = render(
            request, "admin/sign_in_later.html", {"seconds": seconds}, status=status
        )
        response["Retry-After"] = seconds
        hold(request, HELD_SECONDS)
        return response

    return middleware


def stand_aside(request: HttpRequest) -> None:
    """Notify the web server that this thread waits, so that it uses another."""
    place = getattr(request.META.get("gunicorn.socket"), "place", None)
    if place:
        place.stand_aside()


class SignInForm(AdminAuthenticationForm):
    """Django's, which records who failed."""

    def clean(self) -> dict[str, Any]:
        try:
            return super().clean()
        except ValidationError:
            assert self.request is not None
            record_failure(self.request, self.cleaned_data.get("username", ""))
            raise


def record_failure(request: HttpRequest, login: str) -> None:
    is_locked = bool(getattr(request, "axes_locked_out", False))
    address = address_of(request)
    FailedSignIn.objects.create(login=login, address=address[:64], is_locked=is_locked)
    if is_locked:
        log.warn(
            "Sign-in of %r from %s refused: locked after %d failures for %s; unlock "
            "with `manage.py axes_reset_username`",
            *(login, address),
            *(settings.AXES_FAILURE_LIMIT, settings.AXES_COOLOFF_TIME),
        )
    else:
        log.warn("Sign-in of %r from %s failed", login, address)


def login_of(request: HttpRequest, credentials: dict[str, str] | None) -> str:
    """The name under which failures are counted: an email address has no case."""
    return (credentials or request.POST).get("username", "").lower()


def place_of(request: HttpRequest) -> str | None:
    """The address under which failures are counted.

    Of IPv6 it is the first half: the second is the client's own choice.
    """
    try:
        return source(read_address(address_of(request))).partition("/")[0]
    except ValueError:
        return None


def locked_out(
    request: HttpRequest, response: HttpResponse, credentials: dict[str, str]
) -> HttpResponse:
    seconds = int(settings.AXES_COOLOFF_TIME.total_seconds())
    context = {
        "failures": settings.AXES_FAILURE_LIMIT,
        "minutes": seconds // 60,
        "login": login_of(request, credentials),
    }
    answer = render(request, "admin/locked_out.html", context, status=429)
    answer["Retry-After"] = str(seconds)
    return answer

"""Sessions of staff end twelve hours after the sign-in, or when they are idle."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

IDLE = timedelta(minutes=30)
WRITTEN_EVERY = timedelta(minutes=1)
"""When someone was seen is written no more often: IDLE ends up to so much earlier."""
BEGAN, SEEN = "began", "seen"
BY_ITSELF = ("/book/ladder/", "/progress/")
"""The ends of addresses that a page asks for by itself, again and again."""


@receiver(user_logged_in)
def begin(request: HttpRequest, **given: Any) -> None:
    now = timezone.now().timestamp()
    request.session[BEGAN] = request.session[SEEN] = now


def has_ended(session: SessionBase, now: float) -> bool:
    return (
        now - session[BEGAN] >= settings.SESSION_COOKIE_AGE
        or now - session[SEEN] >= IDLE.total_seconds()
    )


def end_sessions(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Require a new sign-in after the end of a session."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/admin/") and request.user.is_authenticated:
            session, now = request.session, timezone.now().timestamp()
            # One of a process of the release before begins to count now.
            session.setdefault(BEGAN, now)
            session.setdefault(SEEN, now)
            unwritten = now - session[SEEN] >= WRITTEN_EVERY.total_seconds()
            if has_ended(session, now):
                logout(request)
            elif unwritten and not request.path.endswith(BY_ITSELF):
                session[SEEN] = now
        return get_response(request)

    return middleware

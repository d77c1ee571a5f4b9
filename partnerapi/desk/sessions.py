"""Sessions of members of a partner's desk: neither Django's users nor staff's sessions.

Their cookie is sent to the desk alone. Each request asks the database whether the
member may still use the desk.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from django.conf import settings
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from accounts.desk.models import DeskMember
from partnerapi.core.authors import written_by
from partnerapi.core.database import confirm
from partnerapi.gateway.requests import request_id_of

COOKIE = "desk"
PATH = "/partner"
MEMBER, BEGAN, SEEN = "desk_member", "began", "seen"
LONGEST = timedelta(hours=12)
IDLE = timedelta(minutes=30)
WRITTEN_EVERY = timedelta(minutes=1)
"""When someone was seen is written no more often: IDLE ends up to so much earlier."""


def begin(response: HttpResponse, member: DeskMember) -> None:
    """Sign the member in with the answer; the session's key is new."""
    store, now = SessionStore(), timezone.now().timestamp()
    store[MEMBER], store[BEGAN], store[SEEN] = str(member.pk), now, now
    store.save()
    response.set_cookie(
        COOKIE,
        store.session_key or "",
        path=PATH,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )


def end(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out: the key that the browser had is of no session any more."""
    if key := request.COOKIES.get(COOKIE):
        store = SessionStore(key)
        if MEMBER in store:
            store.delete()
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")


def member_of(request: HttpRequest) -> DeskMember | None:
    """The member that is signed in and may use the desk now."""
    key = request.COOKIES.get(COOKIE)
    if not key:
        return None
    store, now = SessionStore(key), timezone.now().timestamp()
    if MEMBER not in store:
        return None
    if now - store[BEGAN] >= LONGEST.total_seconds() or (
        now - store[SEEN] >= IDLE.total_seconds()
    ):
        store.delete()
        return None
    members = DeskMember.objects.select_related("partner")
    member = members.filter(pk=store[MEMBER]).first()
    if member is None or not member.may_use():
        return None
    if now - store[SEEN] >= WRITTEN_EVERY.total_seconds():
        store[SEEN] = now
        try:
            store.save()
        except UpdateError:
            # Another request has signed the member out.
            return None
    return member


def for_members(
    view: Callable[[HttpRequest, DeskMember], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """A page for members; everyone else goes to the sign-in.

    What a member writes is written in the member's name. No page reports a change that
    a failover could lose.
    """

    @wraps(view)
    def page(request: HttpRequest) -> HttpResponse:
        member = member_of(request)
        if member is None:
            return HttpResponseRedirect(reverse("desk_sign_in"))
        if request.method != "POST":
            return view(request, member)
        with written_by(member.email, f"desk {request.path}", request_id_of(request)):
            response = view(request, member)
            confirm()
        return response

    return never_cache(page)

"""The passkeys of staff: enrolled, signed by those that count, and revoked."""

from ipaddress import ip_address
from secrets import token_bytes
from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts.approvals.models import ApprovalKind
from accounts.passkeys.models import NAME_LENGTH, Passkey
from accounts.passkeys.signing import (
    LOCAL,
    NotSigned,
    bytes_of,
    digest_of,
    domain,
    enrol,
    options_to_enrol,
    options_to_sign,
    revoke,
    text_of,
    vouch,
)
from accounts.people.models import User

CHALLENGE = "passkey_challenge"
"""In the session: what the device signs when it makes a passkey."""


def host_of(request: HttpRequest) -> str:
    return urlsplit(f"//{request.get_host()}").hostname or ""


def own_address(request: HttpRequest) -> str:
    """Where a sandbox's page can use passkeys: WebAuthn takes no IP address.

    Empty: here, or nowhere.
    """
    try:
        ip_address(host_of(request))
    except ValueError:
        return ""
    if domain() != LOCAL:
        return ""
    port = urlsplit(f"//{request.get_host()}").port
    at = f"{LOCAL}:{port}" if port else LOCAL
    return f"{request.scheme}://{at}{request.get_full_path()}"


def may_decide(user: User) -> bool:
    return any(
        user.has_perm(f"accounts.decide_{kind.lower()}") for kind in ApprovalKind.values
    )


def show_passkeys(request: HttpRequest) -> HttpResponse:
    """List one's own passkeys, and those of others that wait for a signature."""
    assert isinstance(request.user, User)
    if request.method == "POST":
        return act(request, request.user)
    if address := own_address(request):
        return HttpResponseRedirect(address)
    waiting = Passkey.objects.filter(vouched_at=None, revoked_at=None)
    if not may_decide(request.user):
        waiting = waiting.filter(person=request.user)
    counting = Passkey.objects.counting().filter(
        person=request.user, domain=host_of(request)
    )
    context = admin.site.each_context(request) | {
        "title": "Passkeys",
        "own": Passkey.objects.filter(person=request.user).order_by("id"),
        "waiting": waiting.select_related("person").order_by("id")
        if counting.exists()
        else (),
        "name_length": NAME_LENGTH,
        "works_here": host_of(request) == domain(),
        "domain": domain(),
    }
    return TemplateResponse(request, "admin/passkeys.html", context)


def act(request: HttpRequest, user: User) -> HttpResponse:
    said, answer = request.POST.get("do"), request.POST.get("answer", "")
    if said == "enrol" and "options" in request.POST:
        challenge = token_bytes(32)
        request.session[CHALLENGE] = text_of(challenge)
        return JsonResponse(options_to_enrol(user, challenge))
    if said == "vouch" and "options" in request.POST:
        digests = [digest_of(passkey_named(request))]
        return JsonResponse(options_to_sign(user, digests, host_of(request)))
    try:
        done = do(request, user, said, answer)
    except NotSigned as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    return HttpResponseRedirect(reverse("admin:passkeys"))


def do(request: HttpRequest, user: User, said: str | None, answer: str) -> str:
    """
    Raises:
        NotSigned
    """
    if said == "enrol":
        challenge = bytes_of(request.session.pop(CHALLENGE, ""))
        name = request.POST.get("name", "").strip()[:NAME_LENGTH]
        passkey = enrol(user, name or "Passkey", challenge, answer)
        return f"Enrolled. The code of this passkey is {passkey.code}."
    if said == "vouch":
        vouch(passkey_named(request), user, answer)
        return "Signed."
    if said != "revoke":
        raise PermissionDenied
    revoke(passkey_named(request), user)
    return "Revoked."


def passkey_named(request: HttpRequest) -> Passkey:
    user: Any = request.user
    seen = Q() if may_decide(user) else Q(person=user)
    return get_object_or_404(Passkey, seen, pk=request.POST.get("passkey"))

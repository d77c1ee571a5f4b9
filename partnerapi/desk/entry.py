"""How members come to a partner's desk: the invitation, the sign-in, the sign-out."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.desk.invitations import invited
from accounts.desk.passkeys import (
    LIFETIME,
    check_member,
    enrol,
    new_challenge,
    options_to_enrol,
    options_to_sign,
    purpose_of_enrolment,
    use,
)
from accounts.passkeys.signing import NotSigned
from partnerapi.desk import sessions
from partnerapi.gateway.bills import Bill
from partnerapi.gateway.refusals import Throttled

CHALLENGE = "desk_challenge"
SIGN_IN = "sign in"


def with_challenge(options: dict[str, Any], challenge: str) -> JsonResponse:
    """What the browser asks the device for; the browser keeps the challenge."""
    response = JsonResponse(options)
    response.set_cookie(
        CHALLENGE,
        challenge,
        max_age=LIFETIME,
        path=sessions.PATH,
        httponly=True,
        samesite="Strict",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return response


def challenge_of(request: HttpRequest) -> str:
    return request.COOKIES.get(CHALLENGE, "")


def site_elsewhere(request: HttpRequest) -> str:
    """The address at which passkeys work, where it is not this one."""
    site = settings.PARTNER_API_SITE
    here = f"{request.scheme}://{request.get_host()}"
    return "" if here == site else f"{site}{request.path}"


def charge(request: HttpRequest) -> HttpResponse | None:
    """Take what an attempt costs from the address's budget; the answer if it cannot."""
    try:
        Bill(request, None).charge_refusal()
    except Throttled as refusal:
        said = f"{refusal}\n"
        return HttpResponse(said, "text/plain", refusal.status, headers=refusal.headers)
    return None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    problem = ""
    if request.method == "POST":
        if refused := charge(request):
            return refused
        if "options" in request.POST:
            challenge = new_challenge(SIGN_IN)
            return with_challenge(options_to_sign(challenge), challenge)
        try:
            answer = request.POST.get("answer", "")
            signature = check_member(challenge_of(request), SIGN_IN, answer)
            use(signature)
        except NotSigned as error:
            problem = str(error)
        else:
            response = HttpResponseRedirect(reverse("desk"))
            response.delete_cookie(CHALLENGE, path=sessions.PATH)
            sessions.begin(response, signature.member)
            return response
    context = {"problem": problem, "elsewhere": site_elsewhere(request)}
    return render(request, "desk/sign_in.html", context, status=403 if problem else 200)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    response = HttpResponseRedirect(reverse("desk_sign_in"))
    sessions.end(request, response)
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, signed: str) -> HttpResponse:
    """Set the passkey of an invited member, which can be used after 24 hours."""
    if request.method == "POST" and (refused := charge(request)):
        return refused
    member = invited(signed)
    context: dict[str, Any] = {"elsewhere": site_elsewhere(request), "member": member}
    if member is None:
        return render(request, "desk/invitation.html", context, status=410)
    if request.method == "POST":
        if "options" in request.POST:
            challenge = new_challenge(purpose_of_enrolment(member))
            return with_challenge(options_to_enrol(member, challenge), challenge)
        try:
            enrol(member, challenge_of(request), request.POST.get("answer", ""))
        except NotSigned as error:
            context["problem"] = str(error)
            return render(request, "desk/invitation.html", context, status=403)
        member.refresh_from_db()
        context["is_set"] = True
    return render(request, "desk/invitation.html", context)

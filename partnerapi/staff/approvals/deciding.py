"""The people that may decide a request on this page, and how they sign."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, JsonResponse

from accounts.approvals.four_eyes import (
    NotApproved,
    decide_all,
    needs_passkey,
    rests_until,
)
from accounts.approvals.models import ApprovalRequest
from accounts.approvals.signed import decide_signed, digests_of
from accounts.passkeys.models import Passkey
from accounts.passkeys.signing import options_to_sign
from accounts.people.models import User
from partnerapi.staff.authentication.passkeys import host_of, own_address


def why_not_decided(user: Any, asked: ApprovalRequest) -> str:
    """Why this user cannot decide a request; empty: they can.

    The database asks the same when the decision is written.
    """
    if user.pk == asked.filed_by_id:
        return "You cannot approve your own request."
    if not user.has_perm(f"accounts.decide_{asked.kind.lower()}"):
        return (
            "You cannot decide this request: your role does not cover requests of the "
            f"kind “{asked.get_kind_display()}”."
        )
    if until := rests_until(user):
        return (
            f"You cannot decide a request before {until:%Y-%m-%d %H:%M} UTC: another "
            "person changed your access less than 24 hours ago. See Staff changes."
        )
    return ""


def check_decider(user: User, asked: ApprovalRequest) -> None:
    """
    Raises:
        NotApproved
    """
    if why := why_not_decided(user, asked):
        raise NotApproved(why)


def has_passkey(request: HttpRequest) -> bool:
    """Whether a passkey of this user counts and works on this page."""
    assert isinstance(request.user, User)
    keys = Passkey.objects.counting().filter(person=request.user)
    return keys.filter(domain=host_of(request)).exists()


def why_not_by_code(request: HttpRequest, asked: ApprovalRequest) -> str:
    """Why this user, whose passkey does not sign here, cannot decide without one."""
    if not needs_passkey(asked.kind):
        return ""
    if address := own_address(request):
        return f"Decide this request at {address}: your passkey does not work here."
    return (
        "You cannot decide this request: its kind is decided with a passkey, and you "
        "have none that is active here. See Passkeys."
    )


def options(
    request: HttpRequest,
    requests: Sequence[ApprovalRequest],
    is_approved: bool,
    reason: str,
) -> JsonResponse:
    """What the browser asks the device of the user to sign."""
    assert isinstance(request.user, User)
    digests = digests_of(requests, request.user, is_approved, reason)
    return JsonResponse(options_to_sign(request.user, digests, host_of(request)))


def settle(
    request: HttpRequest,
    requests: Sequence[ApprovalRequest],
    is_approved: bool,
    reason: str,
) -> None:
    """Write the decision, with its signature where the browser sends one.

    Raises:
        NotApproved
    """
    assert isinstance(request.user, User)
    if answer := request.POST.get("answer"):
        decide_signed(requests, request.user, is_approved, reason, answer)
    else:
        decide_all(requests, request.user, is_approved, reason)

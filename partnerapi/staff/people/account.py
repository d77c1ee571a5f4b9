"""A client's account with a partner: its allowed changes of status, its activity."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.accounts.models import (
    Account,
    Actor,
    InvalidStatusTransition,
    Right,
    allowed_statuses,
)
from accounts.applicants.models import Applicant, NotJoined
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.models import CashAccount
from accounts.people.models import User
from partnerapi.core import lock_waits
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file
from partnerapi.staff.market.stops import read_stops
from partnerapi.staff.people import timeline

VERBS = {
    Account.Status.ACTIVE: "Activate",
    Account.Status.REJECTED: "Reject",
    Account.Status.SUSPENDED: "Suspend",
    Account.Status.CLOSED: "Close",
}


class MoveForm(forms.Form):
    """Which status the account gets, and why; the partner reads the reason."""

    status = forms.ChoiceField(
        choices=Account.Status.choices,
        error_messages={"required": "Choose one of the statuses below."},
    )
    reason = forms.CharField(
        max_length=REASON_LENGTH,
        error_messages={
            "required": (
                "The reason is empty. Enter why the status changes; the partner sees "
                "it."
            ),
            "max_length": (
                f"The reason is longer than {REASON_LENGTH} characters. Shorten it."
            ),
        },
    )


def show_account(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The account; who may change it moves it here."""
    if not request.user.has_perm("accounts.view_account"):
        raise PermissionDenied
    rows = Account.objects.select_related("partner", "user__holder")
    account = get_object_or_404(rows, pk=pk)
    may_move = request.user.has_perm("accounts.change_account")
    applicant = Applicant.objects.filter(pk=pk).first()
    known = known_as(account, applicant)
    form = MoveForm(request.POST or None)
    problems: list[str] = []
    if request.method == "POST":
        if not may_move:
            raise PermissionDenied
        if "join" in request.POST:
            problems = join(request, account, applicant, known)
            if not problems:
                return HttpResponseRedirect(request.path)
        elif not form.is_valid():
            problems = [str(said) for errors in form.errors.values() for said in errors]
        elif problem := move(request, account, **form.cleaned_data):
            problems = [problem]
        else:
            return HttpResponseRedirect(request.path)
    moves = allowed_statuses(account.status, {Right.STAFF})
    with_approval = allowed_statuses(account.status, {Right.STAFF_APPROVED})
    asked = ApprovalRequest.objects.open(timezone.now()).filter(
        kind=ApprovalKind.CLOSING, content__account=str(account.pk)
    )
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": str(account),
        "account": account,
        "applicant": applicant,
        "known": known,
        "may_join": may_move,
        "problems": problems,
        "reason": form["reason"].value() or "",
        "reason_length": REASON_LENGTH,
        "moves": [(status, VERBS[status]) for status in moves] if may_move else [],
        "closes": Account.Status.CLOSED in with_approval,
        "ask_closing": may_file(request.user, ApprovalKind.CLOSING)
        and address(ApprovalKind.CLOSING, account=account.pk),
        "asked": [*asked[:1]],
        "cash": (cash := cash_of(request, account)),
        "balance": cash and euros(cash.head.balance),
        "reserved": cash and euros(cash.head.reserved),
        "stops": read_stops(request, account.partner_id, account.pk),
        "timeline": timeline.read(request, account.user, [account.pk]),
    }
    return TemplateResponse(
        request, "admin/account.html", context, status=400 if problems else 200
    )


def known_as(account: Account, applicant: Applicant | None) -> list[User]:
    """Other users who may be the client of an account that its partner opened."""
    if applicant is None or account.user_id != applicant.user_id:
        return []
    return [*applicant.known_users()] if account.status == "PENDING" else []


def join(
    request: HttpRequest,
    account: Account,
    applicant: Applicant | None,
    known: list[User],
) -> list[str]:
    """Why the account was not given to the user that is named; empty: it was."""
    assert isinstance(request.user, User)
    chosen = [user for user in known if str(user.pk) == request.POST["join"]]
    if applicant is None or not chosen:
        return ["Choose one of the users below."]
    try:
        applicant.join(chosen[0])
    except NotJoined as error:
        return [f"Not assigned: {error}"]
    said = f"Assigned to User|{chosen[0].pk}."
    LogEntry.objects.log_actions(request.user.pk, [account], CHANGE, said)
    messages.success(request, f"The account now belongs to {chosen[0]}.")
    return []


def cash_of(request: HttpRequest, account: Account) -> CashAccount | None:
    """Its cash, for users with the right to see it."""
    if not request.user.has_perm("accounts.view_cashaccount"):
        return None
    return CashAccount.objects.select_related("head").get(account=account)


def move(request: HttpRequest, account: Account, status: str, reason: str) -> str:
    """Why the account was not moved; empty: it was."""
    assert isinstance(request.user, User)
    actor = Actor(request.user.email or "", is_staff=True)
    try:
        with lock_waits.name_locked_row():
            previous = account.change_status(status, actor, reason)
    except (InvalidStatusTransition, lock_waits.LockTimeout) as error:
        account.refresh_from_db()
        return f"Status not changed: {error}"
    if previous == status:
        return f"The account is already {status}; nothing was changed."
    said = f"{previous} → {status}."
    LogEntry.objects.log_actions(request.user.pk, [account], CHANGE, said)
    messages.success(request, f"The account changed from {previous} to {status}.")
    return ""

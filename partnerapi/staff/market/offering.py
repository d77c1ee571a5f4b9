"""An offering: its terms, its book, the allotment as of now, and its next steps."""

from itertools import groupby
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import NotApproved
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.people.models import User
from issuers.models import Document
from issuers.offerings import deciding
from issuers.offerings.allotting import Share, shares_now
from issuers.offerings.models import (
    Offering,
    OfferingStatus,
    SubscriptionStatus,
)
from issuers.offerings.paying import cash_head
from marketdata.trading.models import Market
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.money import euros
from partnerapi.staff.approvals.filing import address, may_file

MOST_ROWS = 100
Status = ApprovalRequest.Status


def show_offering(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The requester of an approved settlement begins it here."""
    if not request.user.has_perm("issuers.view_offering"):
        raise PermissionDenied
    offerings = Offering.objects.select_related("token__issuer")
    offering = get_object_or_404(offerings, pk=pk)
    approved = settlement_of(request, offering)
    problem = ""
    if request.method == "POST":
        if approved is None:
            raise PermissionDenied
        if not (problem := settle(request, offering, approved)):
            return HttpResponseRedirect(request.path)
    price, shares = shares_now(offering)
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": str(offering),
        "offering": offering,
        "rows": deciding.terms_rows(offering),
        "covered": deciding.covered(offering),
        "reflection_ends": deciding.reflection_ends(offering),
        "price": euros(price) if price else "",
        "total": sum(share.units for share in shares),
        "levels": levels(shares),
        "shares": [
            (share, euros(share.subscription.limit_price))
            for share in shares[:MOST_ROWS]
        ],
        "left_out": len(shares) - MOST_ROWS,
        "refused": [share for share in shares if share.code][:MOST_ROWS],
        "settled": settled_rows(offering),
        "cash": cash(offering),
        "steps": steps(request, offering, price),
        "documents": Document.objects.filter(pk__in=offering.documents).defer(
            "content"
        ),
        "differs": offering.status == OfferingStatus.ALLOTTED
        and any(share.units != share.subscription.allotted for share in shares),
        "withdraw_draft": withdraw_draft(request, offering),
        **reference_price(request, offering),
        "approved": approved,
        "problem": problem,
    }
    return TemplateResponse(
        request, "admin/offering.html", context, status=400 if problem else 200
    )


def settlement_of(request: HttpRequest, offering: Offering) -> ApprovalRequest | None:
    """The approved request of this user to settle the offering, not executed yet."""
    if offering.status != OfferingStatus.ALLOTTED:
        return None
    found = ApprovalRequest.objects.open(timezone.now()).filter(
        kind=ApprovalKind.SETTLEMENT,
        content__offering=str(offering.pk),
        filed_by=request.user.pk,
        decision__is_approved=True,
    )
    return found.first()


def settle(request: HttpRequest, offering: Offering, approved: ApprovalRequest) -> str:
    """Why it was not settled; empty: it was."""
    assert isinstance(request.user, User)
    try:
        deciding.settle(offering, approved.pk, request.user.email or "")
    except (NotApproved, LockTimeout) as error:
        return f"Not settled: {error}"
    messages.success(request, "The offering is settled.")
    return ""


def levels(shares: list[Share]) -> list[tuple[str, int, int, int]]:
    """By limit, the highest first: its units, these and all above, subscriptions."""
    rows, above = [], 0
    by_limit = sorted(shares, key=lambda share: -share.subscription.limit_price)
    for limit, level in groupby(by_limit, lambda share: share.subscription.limit_price):
        found = [share.subscription.quantity for share in level]
        above += sum(found)
        rows.append((euros(limit), sum(found), above, len(found)))
    return rows[:MOST_ROWS]


def settled_rows(offering: Offering) -> list[Any]:
    """What investors got, by time."""
    ended = offering.subscriptions.filter(status=SubscriptionStatus.SETTLED)
    found = ended.select_related("account__user", "account__partner")
    return [*found.order_by("ranked_at", "id")[:MOST_ROWS]]


def cash(offering: Offering) -> dict[str, str]:
    """The issuer's cash, and what may be paid out."""
    head = cash_head(offering.token.issuer)
    if head is None:
        return {}
    return {
        "balance": euros(head.balance),
        "available": euros(head.balance - head.reserved),
    }


def withdraw_draft(request: HttpRequest, offering: Offering) -> str:
    """The page on which this user withdraws a draft; empty: there is none."""
    is_draft = offering.status == OfferingStatus.DRAFT
    if not (is_draft and may_file(request.user, ApprovalKind.OFFERING)):
        return ""
    return f"{reverse('admin:work', args=['withdraw-draft'])}?offering={offering.pk}"


def reference_price(request: HttpRequest, offering: Offering) -> dict[str, str]:
    """What a settled offering proposes, and the page that opens a market with it."""
    if offering.status != OfferingStatus.SETTLED or offering.price is None:
        return {}
    token = offering.token
    found = {"proposed": euros(offering.price)}
    opens = request.user.has_perm("trading.change_market")
    if opens and not Market.objects.filter(token=token).exists():
        given = {"token": token.symbol}
        if token.is_traded:
            given["reference_price"] = f"{offering.price / 100:.2f}"
        work = "open-market" if token.is_traded else "open-secondary"
        page = reverse("admin:work", args=[work])
        found["open_market"] = f"{page}?{urlencode(given)}"
    return found


def steps(
    request: HttpRequest, offering: Offering, price: int | None
) -> list[tuple[str, str]]:
    """The requests that are possible now, with the pages on which they are filed."""
    found = []
    if may_file(request.user, ApprovalKind.OFFERING):
        for step, title in deciding.TITLES.items():
            try:
                deciding.check_step(offering, step)
            except deciding.OfferingRefused:
                continue
            given: dict[str, Any] = {"offering": offering.pk, "step": step}
            if step == deciding.PRICE and price:
                given["price"] = f"{price / 100:.2f}"
            found.append((title, address(ApprovalKind.OFFERING, **given)))
    is_allotted = offering.status == OfferingStatus.ALLOTTED
    if is_allotted and may_file(request.user, ApprovalKind.SETTLEMENT):
        page = address(ApprovalKind.SETTLEMENT, offering=offering.pk)
        found.append(("Settlement", page))
    return found

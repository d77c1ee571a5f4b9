"""A holder: holdings at an instant, accounts, legacy lines and activity."""

from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zipfile import ZIP_DEFLATED, ZipFile

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.history.models import RowChange
from accounts.people.models import User, UserHolderName
from issuers.compliance.judge import Units, units_of
from issuers.exports.statements import TooManyLines, holder_statement
from issuers.models import Token
from issuers.register.captable import CapitalizationTableTooLarge
from issuers.register.holdings import HeldBalance, balances_of
from issuers.register.models import LedgerAccount
from partnerapi.core.database import confirm
from partnerapi.core.errors import RequestTimeout
from partnerapi.core.money import euros
from partnerapi.core.times import to_rfc3339
from partnerapi.staff.log.authorship import written_by_user
from partnerapi.staff.log.downloads import note_print
from partnerapi.staff.people import timeline
from partnerapi.staff.register.captable import instant_of

ACCOUNTS, LINES, NAMES = 50, 20, 20
"""The most of each that the page shows; the timeline has all lines."""


@dataclass(frozen=True, slots=True)
class Holding:
    token: Token
    held: HeldBalance
    units: Units | None

    @property
    def price(self) -> str:
        return euros(self.held.price) if self.held.price else "none: valued at 0"

    @property
    def value(self) -> str:
        return euros(self.held.value)


def address(user_id: Any, **query: Any) -> str:
    page = reverse("admin:holder", args=[user_id])
    return f"{page}?{urlencode(query)}" if query else page


def show_holder(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The user, with what the address's instant shows; without one, now."""
    if not request.user.has_perm("accounts.view_user"):
        raise PermissionDenied
    users = User.objects.select_related("holder", "country")
    user = get_object_or_404(users, pk=pk)
    if request.method == "POST":
        return note_print(request, user, "Page of a holder")
    accounts = user.accounts.select_related("partner").order_by("-created_at")
    shown = [*accounts[:ACCOUNTS]]
    names = UserHolderName.objects.filter(holder__user=user).order_by("-replaced_at")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": str(user),
        "holder": user,
        "may_edit": admin.site.get_model_admin(User).has_change_permission(
            request, user
        ),
        "accounts": shown if request.user.has_perm("accounts.view_account") else None,
        "names": names[:NAMES],
        "groups": user.groups.order_by("name") if user.is_staff else [],
        "timeline": timeline.read(request, user, [account.pk for account in shown]),
    }
    if request.user.has_perm("issuers.view_legacyshareholder"):
        lines = user.legacy_shareholdings.select_related("issuer", "token")
        context["lines"] = lines.order_by("-created_at", "-id")[:LINES]
    status = 200
    if request.user.has_perm("issuers.view_token"):
        try:
            context |= holdings(request, user)
        except ValueError as error:
            context["problem"] = f"This is not an instant: {error}"
            status = 400
        except RequestTimeout as error:
            context["problem"] = str(error)
            status = 503
    return TemplateResponse(request, "admin/holder.html", context, status=status)


@require_safe
def statement(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The holder's statement of now as PDF, and beside it a proof of each token."""
    rights = ("accounts.view_user", "issuers.view_token")
    if not request.user.has_perms(rights):
        raise PermissionDenied
    user, at = get_object_or_404(User, pk=pk), timezone.now()
    try:
        found = holder_statement(user, at)
    except TooManyLines as error:
        return HttpResponse(str(error), "text/plain", 409)
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("statement.pdf", found.document)
        for symbol, proof in found.proofs.items():
            archive.writestr(f"{symbol}.proof.json", proof)
    name = f"statement-{pk}-{at:%Y%m%dT%H%M%SZ}.zip"
    with written_by_user(request):
        RowChange.objects.note_export(
            user,
            what="Statement of a holder",
            at=to_rfc3339(at),
            format="zip",
            file=name,
            sha256=sha256(packed.getvalue()).hexdigest(),
        )
        confirm()
    return HttpResponse(
        packed.getvalue(),
        "application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def units_now(user: User, tokens: list[UUID]) -> dict[UUID, Units]:
    account = LedgerAccount.objects.filter(user=user).first()
    return units_of(account.pk, tokens) if account else {}


def holdings(request: HttpRequest, user: User) -> dict[str, Any]:
    """What the user held; seven statements.

    Raises:
        ValueError: the address names no instant.
        RequestTimeout: a writer holds one of the ledgers for too long.
    """
    asked, now = instant_of(request.GET), timezone.now()
    at = min(asked or now, now)
    [found] = balances_of([str(user.pk)], at, None)
    told: dict[str, Any] = {
        "asked": asked,
        "is_future": asked is not None and asked > now,
        "at": at,
        "link": address(user.pk, at=to_rfc3339(at)),
    }
    if isinstance(found, CapitalizationTableTooLarge):
        return told | {"problem": str(found)}
    ids = [held.token_id for held in found]
    tokens = Token.objects.select_related("issuer").in_bulk(ids)
    by_id = {str(token.pk): token for token in tokens.values()}
    is_now = asked is None or asked > now
    free = units_now(user, [*tokens]) if is_now else {}
    return told | {
        "is_now": is_now,
        "holdings": [
            Holding(by_id[held.token_id], held, free.get(by_id[held.token_id].pk))
            for held in found
        ],
        "total": euros(sum(held.value for held in found)),
    }

"""API keys: issued, put in another's place, and revoked, with what that means."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.access import Scope
from accounts.approvals.four_eyes import Superseded, is_needed
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.keys.approvals import IssueKey
from accounts.keys.models import ApiKey, Partner
from accounts.people.models import User
from marketdata.models import FixSession
from partnerapi.core.backoffice import MOST_AT_ONCE
from partnerapi.gateway.records import OK
from partnerapi.staff.approvals.filing import KeyForm, file_form, may_file
from partnerapi.staff.lookup import as_uuid, link
from partnerapi.staff.people.usage import by_hour


class PartnerKeyForm(KeyForm):
    """A key for this partner, beside its others or in the place of one of them."""

    partner = None  # type: ignore[assignment]
    rotates = forms.ModelChoiceField(  # type: ignore[assignment]
        label="Replaces key",
        queryset=ApiKey.objects.none(),
        required=False,
        empty_label="None: new key",
    )

    def __init__(self, partner: Partner, at: datetime, *given: Any, **more: Any):
        super().__init__(*given, **more)
        self.owner = partner
        self.fields["rotates"].queryset = partner.api_keys.live(at).select_related(  # type: ignore[attr-defined]
            "partner"
        )

    def clean_rotates(self) -> UUID | None:
        key = self.cleaned_data["rotates"]
        return key and key.pk

    def clean(self) -> dict[str, Any]:
        return self.cleaned_data | {"partner": self.owner}


def show_key(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A key: what it may do, when it ends, how it is used; its actions."""
    if not request.user.has_perm("accounts.view_apikey"):
        raise PermissionDenied
    rows = ApiKey.objects.select_related("partner")
    key, at = get_object_or_404(rows, pk=pk), timezone.now()
    codes = key.request_counts.exclude(code=OK).values("code")
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"Key …{key.last_four} of {key.partner.name}",
        "key": key,
        "state": state_of(key, at),
        "chart": by_hour(key.request_counts.all(), at),
        "codes": codes.annotate(requests=Sum("number")).order_by("-requests", "code"),
    }
    return TemplateResponse(request, "admin/key.html", context)


def state_of(key: ApiKey, at: datetime) -> tuple[str, str]:
    """The state of a key as a class of the style sheet, and in words for people."""
    if key.revoked_at:
        return "revoked", f"revoked {key.revoked_at:%Y-%m-%d %H:%M}"
    if key.expires_at and key.expires_at <= at:
        return "expired", f"expired {key.expires_at:%Y-%m-%d %H:%M}"
    if not key.partner.is_active:
        return "off", "rejected: the partner is switched off"
    if key.expires_at:
        return "active", f"active until {key.expires_at:%Y-%m-%d %H:%M}"
    return "active", "active, without an end"


def issue_key(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for a key where a second person decides; else issue it, and show it once."""
    if not may_file(request.user, ApprovalKind.KEY):
        raise PermissionDenied
    assert isinstance(request.user, User)
    partner, at = get_object_or_404(Partner, pk=pk), timezone.now()
    needs_approval = is_needed(ApprovalKind.KEY, str(request.user.pk))
    old = partner.api_keys.live(at).filter(pk=as_uuid(request.GET.get("rotates", "")))
    given = {"rotates": key.pk, "scopes": key.scopes} if (key := old.first()) else {}
    form = PartnerKeyForm(partner, at, request.POST or None, initial=given)
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": f"New key for {partner}",
        "partner": partner,
        "form": form,
        "needs_approval": needs_approval,
    }
    if form.is_valid() and needs_approval:
        if asked := file_form(ApprovalKind.KEY, form, request.user):
            messages.success(
                request,
                "Waiting for a second approver. Nothing is issued yet: once the "
                "request is approved, you issue the key on this page.",
            )
            return HttpResponseRedirect(link(asked))
    elif form.is_valid() and (issued := issued_at_once(form, request.user)):
        context["issued"], context["key_token"] = issued
    return TemplateResponse(request, "admin/partner_key.html", context)


def issued_at_once(form: PartnerKeyForm, user: User) -> tuple[ApiKey, str] | None:
    """The key and its token; None: the form says why not."""
    reason = form.cleaned_data["reason"]
    try:
        with transaction.atomic():
            content, _ = form.content_and_title()
            asked = ApprovalRequest(kind=ApprovalKind.KEY, content=content)
            key, token = IssueKey().execute(asked)
            said = f"Issued: {reason}"
            LogEntry.objects.log_actions(user.pk, [key], ADDITION, said)
    except forms.ValidationError as error:
        form.add_error(None, error)
    except Superseded as error:
        form.add_error(None, str(error))
    else:
        return key, token
    return None


def revoke_keys(request: HttpRequest) -> HttpResponse:
    """Tell what ends with these keys; revoke them for a reason."""
    if not request.user.has_perm("accounts.change_apikey"):
        raise PermissionDenied
    assert isinstance(request.user, User)
    ids = [pk for text in request.GET.getlist("key") if (pk := as_uuid(text))]
    rows = ApiKey.objects.select_related("partner").filter(pk__in=ids[:MOST_AT_ONCE])
    keys = [*rows.filter(revoked_at=None).order_by("partner__login", "created_at")]
    reason = request.POST.get("reason", "").strip()
    if request.method == "POST" and keys and reason:
        at = timezone.now()
        with transaction.atomic():
            revoked = [key for key in keys if key.revoke(at)]
            said = f"Revoked: {reason}"
            for key in revoked:
                LogEntry.objects.log_actions(request.user.pk, [key], CHANGE, said)
        messages.success(
            request,
            f"{len(revoked)} keys revoked; every process rejects them within one "
            "second.",
        )
        return HttpResponseRedirect(place_of(keys))
    problem = "The reason is empty. Enter why the keys are revoked; the log keeps it."
    context: dict[str, Any] = admin.site.each_context(request) | {
        "title": "Revoke keys",
        "keys": consequences(keys),
        "problem": problem if request.method == "POST" and keys else None,
        "chosen": len(ids),
        "most": MOST_AT_ONCE,
        "back": place_of(keys),
    }
    return TemplateResponse(request, "admin/revoke.html", context)


def place_of(keys: list[ApiKey]) -> str:
    """The page of the keys' partner; the list of keys where they have several."""
    if len({key.partner_id for key in keys}) == 1:
        return reverse("admin:partner", args=[keys[0].partner_id])
    return reverse("admin:accounts_apikey_changelist")


def consequences(keys: list[ApiKey]) -> list[tuple[ApiKey, list[str], list[str]]]:
    """For each key, the scopes that its partner has no more, and its live CompIDs.

    Two statements.
    """
    partners = {key.partner_id for key in keys}
    others = ApiKey.objects.live(timezone.now()).filter(partner__in=partners)
    left: dict[UUID, set[str]] = {}
    for other in others.exclude(pk__in=[key.pk for key in keys]):
        left.setdefault(other.partner_id, set()).update(other.scopes)
    live: dict[UUID, list[str]] = {}
    sessions = FixSession.objects.filter(partner__in=partners, enabled=True)
    for row in sessions.filter(connected_since__isnull=False).order_by("comp_id"):
        live.setdefault(row.partner_id, []).append(row.comp_id)
    return [
        (
            key,
            sorted({*key.scopes} - left.get(key.partner_id, set())),
            live.get(key.partner_id, []) if Scope.MARKETDATA_READ in key.scopes else [],
        )
        for key in keys
    ]

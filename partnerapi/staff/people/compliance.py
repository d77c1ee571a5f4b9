"""A holder as compliance sees it: what is known of the investor, and what binds units.

Freezes, locks, approvals and decisions on profiles need one person; the lifting of a
restriction is asked for.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.investors import writer as investors
from accounts.investors.models import (
    EVIDENCE_LENGTH,
    InvestorAttestation,
    InvestorClass,
    Verification,
)
from accounts.people.models import Country, User
from issuers.compliance import restrictions
from issuers.compliance.holders import approve_holder, end_approval
from issuers.compliance.models import ApprovedHolder, Restriction
from issuers.compliance.restrictions import Terms
from issuers.models.tokens import MAX_UNITS
from partnerapi.core import lock_waits
from partnerapi.core.form_fields import WholeField
from partnerapi.core.lengths import REASON_LENGTH
from partnerapi.staff.picking import TokenField

LAST = 20
"""The most of each list that the page shows."""


class LaterField(forms.DateTimeField):
    """An instant that is still to come, UTC; or none."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def __init__(self, label: str, help_text: str) -> None:
        super().__init__(label=label, help_text=help_text, required=False)

    def clean(self, value: Any) -> Any:
        at = super().clean(value)
        if at is not None and at <= timezone.now():
            raise forms.ValidationError("This instant has passed; enter a later one.")
        return at


class RestrictForm(forms.Form):
    """A freeze, a lock-up or a pledge."""

    prefix = "restrict"
    kind = forms.ChoiceField(label="Restriction", choices=Restriction.Kind.choices)
    token = TokenField(required=False, help_text="Leave blank for every token")
    units = WholeField(
        label="Units",
        min_value=1,
        max_value=MAX_UNITS,
        required=False,
        help_text="Leave blank to freeze the whole position, in and out.",
    )
    until = LaterField(
        "Until, UTC", ("Leave blank for no end. Lifting needs two approvals.")
    )
    beneficiary = forms.CharField(
        label="Pledged to", max_length=200, required=False, help_text="Pledgee"
    )
    reason = forms.CharField(label="Reason", max_length=REASON_LENGTH)

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        if said.get("units") and not said.get("token"):
            raise forms.ValidationError("Units need a token: enter its symbol.")
        if (said.get("kind") == Restriction.Kind.PLEDGE) != bool(
            said.get("beneficiary")
        ):
            raise forms.ValidationError(
                "Only a pledge has a pledgee, and a pledge needs one."
            )
        return said

    def carry_out(self, user: User, actor: str) -> str:
        made = restrictions.restrict(user, Terms(**self.cleaned_data), actor)
        return f"{made} is in effect."


class InvestorForm(forms.Form):
    """What is in force of the investor from now on."""

    prefix = "investor"
    verification = forms.ChoiceField(label="Verified", choices=Verification.choices)
    verified_until = LaterField("Until, UTC", "Only for a verification that expires.")
    tax_country = forms.ModelChoiceField(
        Country.objects.all(), label="Country of tax residence", required=False
    )
    investor_class = forms.ChoiceField(label="Class", choices=InvestorClass.choices)
    evidence = forms.CharField(
        label="Evidence",
        max_length=EVIDENCE_LENGTH,
        help_text="Where the evidence is kept; never the evidence itself.",
    )
    attestation = forms.ModelChoiceField(
        InvestorAttestation.objects.none(),
        label="Based on partner attestation",
        required=False,
        help_text="The partner may then renew or downgrade the profile.",
    )

    def carry_out(self, user: User, actor: str) -> str:
        said = dict(self.cleaned_data)
        attestation = said.pop("attestation")
        investors.decide(user, investors.Facts(**said), actor, attestation)
        return "Investor profile saved. Earlier attestations of partners are settled."


class ApproveForm(forms.Form):
    """A token whose units the holder may acquire, where holders need an approval."""

    prefix = "approve"
    token = TokenField()
    until = LaterField("Until, UTC", "Leave blank for no end.")

    def carry_out(self, user: User, actor: str) -> str:
        token = self.cleaned_data["token"]
        approve_holder(token, user, self.cleaned_data["until"], actor)
        return f"{user} may acquire {token.symbol}."


FORMS: Mapping[str, tuple[type[Any], str]] = {
    "restrict": (RestrictForm, "issuers.add_restriction"),
    "investor": (InvestorForm, "accounts.add_investorchange"),
    "approve": (ApproveForm, "issuers.add_approvedholder"),
}
"""By what a button says, its form, and the right that it needs."""


def address(user_id: Any) -> str:
    return reverse("admin:holder_compliance", args=[user_id])


def show_compliance(request: HttpRequest, pk: UUID) -> HttpResponse:
    if not request.user.has_perm("issuers.view_restriction"):
        raise PermissionDenied
    user = get_object_or_404(User.objects.select_related("country"), pk=pk)
    profile = investors.profile_of(user)
    waiting = user.attestations.waiting().select_related("partner", "tax_country")
    shown = [*waiting.order_by("-created_at")[:LAST]]
    posted = request.POST.get("do", "")
    built = {}
    for name, (form, right) in FORMS.items():
        if request.user.has_perm(right):
            given = request.POST if posted == name else None
            initial = initial_values(profile, shown) if name == "investor" else {}
            built[name] = form(given, initial=initial)
    if "investor" in built:
        built["investor"].fields["attestation"].queryset = user.attestations.waiting()
    if request.method == "POST":
        done = act(request, user, posted, built)
        if done:
            messages.success(request, done)
            return HttpResponseRedirect(address(user.pk))
    context = admin.site.each_context(request) | {
        "title": f"{user}: compliance",
        "holder": user,
        "profile": profile,
        "waiting": shown,
        "changes": user.investor_changes.select_related("tax_country", "partner")
        .order_by("-number")[:LAST],
        "restrictions": Restriction.objects.filter(ledger_account__user=user)
        .select_related("token", "ledger_account__holder")
        .order_by("-created_at")[:LAST],
        "approvals": ApprovedHolder.objects.filter(
            ledger_account__user=user, ended_at=None
        ).select_related("token")[:LAST],
        "forms": built,
        "now": timezone.now(),
    }  # fmt: skip
    return TemplateResponse(request, "admin/holder_compliance.html", context)


def initial_values(profile: Any, waiting: list[InvestorAttestation]) -> dict[str, Any]:
    """What the form of a profile begins with: what waits for staff, else what is."""
    said: Any = waiting[0] if waiting else profile
    return {
        "verification": said.verification,
        "verified_until": said.verified_until,
        "tax_country": said.tax_country_id,
        "investor_class": said.investor_class,
        "evidence": said.evidence,
        "attestation": waiting[0].pk if waiting else None,
    }


def act(
    request: HttpRequest, user: User, do: str, built: Mapping[str, Any]
) -> str | None:
    """Do what a button says; what was done, or None where the page says why not."""
    actor = request.user.email or ""  # type: ignore[union-attr]
    form = built.get(do)
    try:
        with lock_waits.name_locked_row():
            if do.startswith("end "):
                return end_named(request, user, do.removeprefix("end "), actor)
            if form is None:
                raise PermissionDenied
            if form.is_valid():
                return str(form.carry_out(user, actor))
    except lock_waits.LockTimeout as error:
        messages.error(request, f"{error} Nothing was changed. Try again.")
    return None


def end_named(request: HttpRequest, user: User, key: str, actor: str) -> str:
    if not request.user.has_perm("issuers.add_approvedholder"):
        raise PermissionDenied
    of = ApprovedHolder.objects.filter(ledger_account__user=user, ended_at=None)
    approved = get_object_or_404(of, pk=key)
    end_approval(approved, user, actor)
    return f"{user} is no longer approved to acquire {approved.token.symbol}."

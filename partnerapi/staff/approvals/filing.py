"""Pages on which staff ask for what a second person decides: one for each kind."""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.approvals import closing_content, closing_title
from accounts.accounts.models import Account
from accounts.approvals.four_eyes import NotApproved, Superseded, file_request
from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.cash.models import (
    CashAccount,
    CashTransaction,
    Withdrawal,
    normalised_reference,
)
from accounts.cash.suspense import (
    assignment_content,
    assignment_title,
    return_content,
    return_title,
)
from accounts.cash.withdrawals import content_of, title_of
from accounts.desk.invitations import desk_content, desk_title
from accounts.keys.approvals import key_content, key_title
from accounts.keys.models import ApiKey
from accounts.people.models import User
from accounts.sign_ins.resets import reset_content, reset_title
from issuers.compliance.rules import RuleRefused
from issuers.grants import grant_content, grant_title
from issuers.models import Issuer
from issuers.register import ledger
from issuers.register.approvals import (
    moving_kind,
    price_content,
    price_title,
)
from issuers.register.errors import LedgerError
from issuers.register.identities import identity_content, identity_title
from issuers.register.ledger import Entry
from issuers.register.models import LedgerTransaction, TokenPrice
from issuers.register.reasons import ReasonCode
from marketdata.trading.parameters import ParametersRefused
from marketdata.trading.tariffs import TariffRefused
from partnerapi.core import lock_waits
from partnerapi.core.form_fields import EurosField, WholeField
from partnerapi.staff.approvals.asking import AskForm, OfToken, reason_code
from partnerapi.staff.approvals.kinds import KINDS
from partnerapi.staff.approvals.market_forms import (
    BustForm,
    ReleaseForm,
    ReopenForm,
    TariffForm,
)
from partnerapi.staff.approvals.offering_forms import (
    OfferingForm,
    PayoutForm,
    SettlementForm,
)
from partnerapi.staff.approvals.parameters_form import ParametersForm
from partnerapi.staff.approvals.rule_forms import LiftingForm, RuleForm
from partnerapi.staff.lookup import as_uuid, link
from partnerapi.staff.picking import PartnerField, Picker, StaffField

MOST_DAYS = 3650
MOST_OVERLAP_HOURS = 30 * 24
PERSON = "A user's email, wallet address, LEI or id"


class OfUnits(OfToken):
    kind: str
    units = WholeField(label="Units", min_value=1)

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        source = self.account("source") if "source" in asked else None
        target = self.account("target") if "target" in asked else None
        kind = self.kind
        if source and target and kind == ApprovalKind.TRANSFER:
            kind = moving_kind(source, target)
        entry = Entry(
            asked["token"].pk,
            kind,
            asked["units"],
            source,
            target,
            asked["reason"],
            code=self.given_code(),
        )
        return self.of_entry(entry)


def person(label: str, help_text: str, **more: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=254,
        help_text=help_text,
        widget=Picker("person"),
        **more,
    )


OR_TREASURY = f"{PERSON}, or “treasury”"


class MintForm(OfUnits):
    kind = ApprovalKind.MINT
    code = reason_code(ReasonCode.ISSUE)
    target = person("To", OR_TREASURY, initial="treasury")


class BurnForm(OfUnits):
    kind = ApprovalKind.BURN
    code = reason_code(ReasonCode.REDUCTION)
    source = person("From", OR_TREASURY, initial="treasury")


class ForcedTransferForm(OfUnits):
    kind = ApprovalKind.FORCED_TRANSFER
    code = reason_code(ReasonCode.COURT_ORDER)
    source = person("From", PERSON)
    target = person("To", PERSON)


class TransferForm(OfUnits):
    kind = ApprovalKind.TRANSFER
    code = reason_code(ReasonCode.SALE)
    source = person("From", OR_TREASURY)
    target = person("To", OR_TREASURY)


class ReversalForm(OfToken):
    code = reason_code(ReasonCode.CORRECTION)
    entry = WholeField(
        label="Entry", min_value=1, help_text="Number in the token's ledger"
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        entries = LedgerTransaction.objects.filter(token=asked["token"])
        mistaken = entries.filter(seq=asked["entry"]).first()
        if mistaken is None:
            said = f"{asked['token'].symbol} has no entry {asked['entry']}."
            raise forms.ValidationError({"entry": said})
        reversal = ledger.reversal_of(mistaken, asked["reason"], self.given_code())
        return self.of_entry(reversal)


class PriceForm(OfToken):
    price = EurosField(label="Price per unit, €", min_value=0, max_digits=16)
    origin = forms.ChoiceField(
        label="Source",
        choices=[(source.value, source.label) for source in TokenPrice.STAFF_SOURCES],
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        token, cents = asked["token"], asked["price"]
        content = price_content(token.pk, cents, asked["origin"])
        return content, price_title(token, cents)


class KeyForm(AskForm):
    field_order = ["partner", "scopes", "days", "rotates", "overlap_hours"]
    partner = PartnerField()
    scopes = forms.MultipleChoiceField(
        label="Scopes", choices=Scope.choices, widget=forms.CheckboxSelectMultiple
    )
    days = WholeField(
        label="Expires after (days)",
        min_value=1,
        max_value=MOST_DAYS,
        required=False,
        help_text="Leave blank for no expiry.",
    )
    rotates = forms.UUIDField(
        label="Replaces key",
        required=False,
        help_text="Id of a key of this partner. Leave blank for a new key.",
        widget=Picker("key"),
    )
    overlap_hours = WholeField(
        label="Overlap (hours)",
        min_value=0,
        max_value=MOST_OVERLAP_HOURS,
        initial=24,
        help_text="For a replacement: how long the old key stays active.",
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        partner, scopes, days = asked["partner"], asked["scopes"], asked["days"]
        old = None
        if asked["rotates"]:
            keys = ApiKey.objects.filter(partner=partner, revoked_at=None)
            old = keys.filter(pk=asked["rotates"]).first()
            if old is None:
                said = f"{partner} has no such active key."
                raise forms.ValidationError({"rotates": said})
        expires_at = timezone.now() + timedelta(days) if days else None
        content = key_content(partner, scopes, expires_at, old, asked["overlap_hours"])
        return content, key_title(partner, scopes, expires_at)


class GrantForm(AskForm):
    field_order = ["partner", "issuer"]
    partner = PartnerField()
    issuer = forms.CharField(
        label="Issuer",
        max_length=100,
        required=False,
        help_text="Slug. Leave blank for every issuer, including future ones.",
        widget=Picker("issuer"),
    )

    def clean_issuer(self) -> Issuer | None:
        slug = self.cleaned_data["issuer"].strip()
        if not slug:
            return None
        if issuer := Issuer.objects.filter(slug=slug).first():
            return issuer
        raise forms.ValidationError(f"There is no issuer {slug}.")

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        partner, issuer = self.cleaned_data["partner"], self.cleaned_data["issuer"]
        return grant_content(partner, issuer), grant_title(partner, issuer)


PLAIN_ADDRESS = re.compile(r"[a-z0-9!#$%&'*+/=?^_`{|}~.-]+@[a-z0-9.-]+")


class DeskForm(AskForm):
    field_order = ["partner", "email", "scopes"]
    partner = PartnerField()
    email = forms.EmailField(
        label="Email address",
        max_length=254,
        help_text="Of a person of the partner. The invitation goes to this address.",
    )
    scopes = forms.MultipleChoiceField(
        label="Scopes of the keys that the person may issue",
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text="Leave all unchecked for a person that issues no keys.",
    )

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"].lower()
        if not PLAIN_ADDRESS.fullmatch(email):
            raise forms.ValidationError(
                "Enter an address in ASCII, without quotes, at a domain name."
            )
        return email

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        given = asked["partner"], asked["email"], asked["scopes"]
        return desk_content(*given), desk_title(*given)


class IdentityForm(OfToken):
    field_order = ["token", "symbol", "isin"]
    symbol = forms.CharField(
        label="New symbol", max_length=20, help_text="Leave unchanged to keep it."
    )
    isin = forms.CharField(
        label="New ISIN",
        max_length=12,
        required=False,
        help_text="Leave unchanged to keep it, or blank for no ISIN.",
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        token = asked["token"]
        symbol = asked["symbol"].strip().upper()
        isin = asked["isin"].strip().upper() or None
        if (symbol, isin) == (token.symbol, token.isin):
            said = "Neither the symbol nor the ISIN has changed; change at least one."
            raise forms.ValidationError({"symbol": said})
        if not token.is_traded:
            said = f"{token.symbol} is not traded: edit the token directly."
            raise forms.ValidationError({"token": said})
        content = identity_content(token, symbol, isin)
        return content, identity_title(token, symbol, isin)


class ClosingForm(AskForm):
    field_order = ["account"]
    account = forms.CharField(
        label="Account", max_length=50, help_text="Id", widget=Picker("account")
    )

    def clean_account(self) -> Account:
        text = self.cleaned_data["account"].strip()
        try:
            key = UUID(text.removeprefix("Account|"))
        except ValueError:
            raise forms.ValidationError(f"{text} is no account's id.") from None
        accounts = Account.objects.select_related("partner", "user")
        if account := accounts.filter(pk=key).first():
            return account
        raise forms.ValidationError(f"There is no account {text}.")

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        account, reason = self.cleaned_data["account"], self.cleaned_data["reason"]
        return closing_content(account, reason), closing_title(account)


class WithdrawalForm(AskForm):
    field_order = ["withdrawal", "to"]
    withdrawal = forms.CharField(
        label="Withdrawal",
        max_length=60,
        help_text="Id or payment reference",
        widget=Picker("withdrawal"),
    )
    to = forms.ChoiceField(
        label="New status",
        choices=[
            (Withdrawal.Status.APPROVED.value, "Approved, awaiting bank payment"),
            (Withdrawal.Status.CANCELLED.value, "Cancelled; the bank will not pay"),
        ],
    )

    def clean_withdrawal(self) -> Withdrawal:
        text = self.cleaned_data["withdrawal"].strip()
        key = as_uuid(text)
        named = (
            {"pk": key} if key else {"payment_reference": normalised_reference(text)}
        )
        if withdrawal := Withdrawal.objects.filter(**named).first():
            return withdrawal
        raise forms.ValidationError(f"There is no withdrawal {text}.")

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        withdrawal, status = asked["withdrawal"], asked["to"]
        # The partner reads why an approved one was not paid.
        cancels = status == Withdrawal.Status.CANCELLED
        content = content_of(withdrawal, status, asked["reason"] if cancels else "")
        return content, title_of(withdrawal, status)


class AssignmentForm(AskForm):
    field_order = ["line", "account"]
    line = forms.CharField(
        label="Bank line",
        max_length=64,
        help_text="Bank reference",
        widget=Picker("line"),
    )
    account = forms.CharField(
        label="Account",
        max_length=60,
        required=False,
        help_text=(
            "Id or deposit reference. Leave blank to return the money to suspense."
        ),
        widget=Picker("account"),
    )

    def clean_line(self) -> CashTransaction:
        text = self.cleaned_data["line"].strip()
        booked = CashTransaction.objects.filter(reference=text).first()
        if booked is None:
            raise forms.ValidationError(f"There is no bank line {text}.")
        return booked

    def clean_account(self) -> CashAccount | None:
        text = self.cleaned_data["account"].strip()
        if not text:
            return None
        key = as_uuid(text)
        named = (
            {"account": key}
            if key
            else {"deposit_reference": normalised_reference(text)}
        )
        if account := CashAccount.objects.filter(**named).first():
            return account
        raise forms.ValidationError(f"There is no account {text}.")

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        deposit, account, reason = asked["line"], asked["account"], asked["reason"]
        if account:
            content = assignment_content(deposit, account, reason)
            return content, assignment_title(deposit, account)
        assignment = deposit.assigned_by.filter(reversed_by=None).first()
        if assignment is None:
            said = "This receipt is unallocated; enter an account."
            raise forms.ValidationError({"account": said})
        return return_content(assignment, reason), return_title(assignment)


class SignInForm(AskForm):
    field_order = ["person"]
    person = StaffField()

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        person = self.cleaned_data["person"]
        return reset_content(person), reset_title(person)


FORMS: Mapping[str, type[AskForm]] = {
    ApprovalKind.MINT: MintForm,
    ApprovalKind.BURN: BurnForm,
    ApprovalKind.FORCED_TRANSFER: ForcedTransferForm,
    ApprovalKind.TRANSFER: TransferForm,
    ApprovalKind.REVERSAL: ReversalForm,
    ApprovalKind.PRICE: PriceForm,
    ApprovalKind.KEY: KeyForm,
    ApprovalKind.CLOSING: ClosingForm,
    ApprovalKind.RULE: RuleForm,
    ApprovalKind.LIFTING: LiftingForm,
    ApprovalKind.WITHDRAWAL: WithdrawalForm,
    ApprovalKind.ASSIGNMENT: AssignmentForm,
    ApprovalKind.BUST: BustForm,
    ApprovalKind.REOPEN: ReopenForm,
    ApprovalKind.RELEASE: ReleaseForm,
    ApprovalKind.TARIFF: TariffForm,
    ApprovalKind.PARAMETERS: ParametersForm,
    ApprovalKind.IDENTITY: IdentityForm,
    ApprovalKind.GRANT: GrantForm,
    ApprovalKind.DESK: DeskForm,
    ApprovalKind.SIGN_IN: SignInForm,
    ApprovalKind.OFFERING: OfferingForm,
    ApprovalKind.SETTLEMENT: SettlementForm,
    ApprovalKind.PAYOUT: PayoutForm,
}
"""A delivery is asked for where its lines are chosen: in the list of legacy shares."""


def ask_for(request: HttpRequest, kind: str) -> HttpResponse:
    """Ask for an action of this kind; the address may fill in the form."""
    kind = kind.upper()
    if kind not in FORMS:
        raise Http404("There is no such kind of request.")
    assert isinstance(request.user, User)
    if not may_file(request.user, kind):
        raise PermissionDenied
    given: dict[str, Any] = request.GET.dict()
    if "scopes" in given:
        given["scopes"] = request.GET.getlist("scopes")
    form = FORMS[kind](request.POST or None, initial=given)
    asked = file_form(kind, form, request.user) if form.is_valid() else None
    if asked:
        messages.success(request, "Submitted. Waiting for a second approver.")
        return HttpResponseRedirect(link(asked))
    context = admin.site.each_context(request) | {
        "title": f"Request: {ApprovalKind(kind).label}",
        "form": form,
    }
    return TemplateResponse(request, "admin/ask.html", context)


def file_form(kind: str, form: AskForm, user: User) -> ApprovalRequest | None:
    """The request, if it could be carried out as things are; else the form says why."""
    try:
        with lock_waits.name_locked_row(), transaction.atomic():
            content, title = form.content_and_title()
            reason = form.cleaned_data["reason"]
            asked = file_request(kind, content, title, reason, user)
            KINDS[kind].preview(asked)
            return asked
    except forms.ValidationError as error:
        form.add_error(None, error)
    except (
        LedgerError,
        RuleRefused,
        TariffRefused,
        ParametersRefused,
        Superseded,
        NotApproved,
        lock_waits.LockTimeout,
    ) as error:
        form.add_error(None, str(error))
    return None


def address(kind: str, **given: Any) -> str:
    """The page on which staff ask for it, with what is known filled in."""
    page = reverse("admin:ask", args=[kind.lower()])
    return f"{page}?{urlencode(given)}" if given else page


def may_file(user: Any, kind: str) -> bool:
    """The database asks the same when the request is written."""
    return bool(user.has_perm(f"accounts.file_{kind.lower()}"))

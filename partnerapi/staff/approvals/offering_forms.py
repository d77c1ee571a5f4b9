"""Forms that ask for a second person about offerings, and issuers' cash."""

from collections.abc import Mapping
from typing import Any

from django import forms

from accounts.payments.iban import WrongIban, checked_iban, sepa_name
from issuers.models import Issuer
from issuers.offerings.deciding import (
    PRICE,
    TITLES,
    OfferingRefused,
    offering_content,
    offering_title,
    settlement_content,
    settlement_title,
)
from issuers.offerings.models import (
    UNDER_WAY,
    IssuerCash,
    Offering,
    OfferingStatus,
)
from issuers.offerings.paying import payout_content, payout_title
from partnerapi.core.form_fields import CENT, EurosField
from partnerapi.staff.approvals.asking import AskForm
from partnerapi.staff.picking import Picker


class OfferingForm(AskForm):
    field_order = ["offering", "step", "price"]
    offering = forms.ModelChoiceField(
        queryset=Offering.objects.filter(
            status__in=[OfferingStatus.DRAFT, *UNDER_WAY]
        ).select_related("token"),
        label="Offering",
    )
    step = forms.ChoiceField(label="Step", choices=[*TITLES.items()])
    price = EurosField(
        label="Price, €", min_value=CENT, max_digits=14, required=False,
        help_text="Of a unit, for the price of an offering with a book.",
    )  # fmt: skip

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        offering, step = asked["offering"], asked["step"]
        price = asked["price"]
        if (step == PRICE) != (price is not None):
            said = "Enter a price for the price of an offering, and for it alone."
            raise forms.ValidationError({"price": said})
        try:
            content = offering_content(offering, step, price, asked["reason"])
        except OfferingRefused as error:
            raise forms.ValidationError({"step": str(error)}) from None
        return content, offering_title(offering, step)


class SettlementForm(AskForm):
    field_order = ["offering"]
    offering = forms.ModelChoiceField(
        queryset=Offering.objects.filter(status=OfferingStatus.ALLOTTED).select_related(
            "token"
        ),
        label="Offering",
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        offering = self.cleaned_data["offering"]
        try:
            return settlement_content(offering), settlement_title(offering)
        except OfferingRefused as error:
            raise forms.ValidationError({"offering": str(error)}) from None


class PayoutForm(AskForm):
    field_order = ["issuer", "amount", "payee", "iban"]
    issuer = forms.CharField(
        label="Issuer", max_length=100, help_text="Slug", widget=Picker("issuer")
    )
    amount = EurosField(label="Amount, €", min_value=CENT, max_digits=14)
    payee = forms.CharField(label="Payee", max_length=70)
    iban = forms.CharField(label="IBAN", max_length=42)

    def clean_issuer(self) -> Issuer:
        slug = self.cleaned_data["issuer"].strip()
        held = IssuerCash.objects.select_related("issuer").filter(issuer__slug=slug)
        if cash := held.first():
            return cash.issuer
        raise forms.ValidationError(f"No issuer {slug} holds cash here.")

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        try:
            iban = checked_iban(asked["iban"])
        except WrongIban as error:
            raise forms.ValidationError({"iban": f"Not valid: {error}."}) from None
        issuer, cents = asked["issuer"], asked["amount"]
        content = payout_content(issuer, cents, sepa_name(asked["payee"]), iban)
        return content, payout_title(issuer, cents)

"""The form on which staff draft an offering; two people open it."""

from datetime import UTC

from django import forms
from django.urls import reverse

from accounts.people.models import User
from issuers.offerings.drafting import OfferingTerms, TermsRefused, draft
from issuers.offerings.models import REFLECTION_SECONDS, AllotmentRule, UnitSource
from partnerapi.core.form_fields import CENT, EurosField, NumberField, WholeField
from partnerapi.staff.picking import TokenField
from partnerapi.staff.working import Done, NotDone, WorkForm

DAY_SECONDS = 86_400
REFLECTION_DAYS = REFLECTION_SECONDS // DAY_SECONDS


def price(label: str, help_text: str) -> EurosField:
    return EurosField(
        label=f"{label}, €", required=False, min_value=CENT, max_digits=14,
        help_text=help_text,
    )  # fmt: skip


def rate(label: str, help_text: str) -> NumberField:
    return NumberField(
        label=f"{label}, %", initial=0, min_value=0, max_value=100, decimal_places=2,
        help_text=help_text,
    )  # fmt: skip


def instant(label: str) -> forms.DateTimeField:
    return forms.DateTimeField(label=f"{label}, UTC", help_text="2027-01-31 08:00")


class OfferingDraftForm(WorkForm):
    field_order = [
        "token", "rule", "each", "floor", "cap", "units", "minimum", "smallest",
        "largest", "opens", "closes", "source", "reflection", "fee", "vat",
    ]  # fmt: skip
    token = TokenField()
    rule = forms.ChoiceField(
        label="Allotment", choices=AllotmentRule.choices, initial=AllotmentRule.PRO_RATA
    )
    each = price("Price of a unit", "Leave blank for one price from the book.")
    floor = price("Lowest limit", "For one price from the book.")
    cap = price("Highest limit", "For one price from the book.")
    units = WholeField(label="Units offered", min_value=1)
    minimum = WholeField(
        label="Minimum, units", min_value=1, help_text="With fewer it fails."
    )
    smallest = WholeField(label="Smallest subscription, units", min_value=1, initial=1)
    largest = WholeField(
        label="Largest subscription, units", min_value=1, required=False,
        help_text="Leave blank for all units.",
    )  # fmt: skip
    opens, closes = instant("Opens"), instant("Closes")
    source = forms.ChoiceField(
        label="Source of the units",
        choices=UnitSource.choices,
        initial=UnitSource.TREASURY,
    )
    reflection = WholeField(
        label="Reflection period, days",
        min_value=0,
        max_value=365,
        initial=REFLECTION_DAYS,
        help_text="How long investors that are not sophisticated may withdraw.",
    )
    fee = rate("Fee of the issuer", "Of the proceeds.")
    vat = rate("Value added tax", "Of the fee.")
    note = "Partners do not see a draft. Its page requests the opening."

    def do(self, user: User) -> Done:
        asked = self.cleaned_data
        terms = OfferingTerms(
            asked["each"],
            asked["units"],
            asked["minimum"],
            asked["opens"].astimezone(UTC),
            asked["closes"].astimezone(UTC),
            asked["rule"],
            asked["source"],
            asked["floor"],
            asked["cap"],
            asked["smallest"],
            asked["largest"],
            asked["reflection"] * DAY_SECONDS,
            int(100 * asked["fee"]),
            int(100 * asked["vat"]),
        )
        try:
            drafted = draft(asked["token"], terms, user.email or "")
        except TermsRefused as error:
            raise NotDone(str(error)) from None
        place = reverse("admin:offering", args=[drafted.pk])
        return Done(drafted, "Drafted the offering", place)

"""Forms that ask for a second person about markets, trades and blocks of orders."""

from collections.abc import Mapping
from typing import Any

from django import forms

from marketdata.trading.busts import bust_content, bust_title
from marketdata.trading.controls import release_content, release_title
from marketdata.trading.fees import Terms
from marketdata.trading.models import Execution, Market, OrderBlock, Phase
from marketdata.trading.phases import reopening_content, reopening_title
from marketdata.trading.tariffs import tariff_content, tariff_title
from partnerapi.core.form_fields import EurosField, NumberField, WholeField
from partnerapi.staff.approvals.asking import AskForm, OfToken
from partnerapi.staff.picking import PartnerField, TokenField


class ReopenForm(OfToken):
    token = TokenField("halted")
    phase = forms.ChoiceField(
        label="Reopen as",
        choices=[(phase.value, phase.label) for phase in (Phase.CALL, Phase.CLOSED)],
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        token, phase = self.cleaned_data["token"], self.cleaned_data["phase"]
        halted = Market.objects.filter(token=token, phase=Phase.HALTED)
        market = halted.select_related("token").first()
        if market is None:
            said = f"{token.symbol} has no halted market."
            raise forms.ValidationError({"token": said})
        return reopening_content(market, phase), reopening_title(market, phase)


class ReleaseForm(AskForm):
    field_order = ["block"]
    block = forms.ModelChoiceField(
        queryset=OrderBlock.objects.filter(is_staff=True, released_at=None),
        label="Block",
    )

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        block = self.cleaned_data["block"]
        return release_content(block), release_title(block)


def rate(label: str, **more: Any) -> NumberField:
    return NumberField(
        label=f"{label}, %", min_value=0, max_value=100, decimal_places=2,
        required=False, **more,
    )  # fmt: skip


def cents(label: str, help_text: str) -> EurosField:
    return EurosField(
        label=f"{label} an order, €", min_value=0, max_digits=14,
        required=False, help_text=help_text,
    )  # fmt: skip


class TariffForm(OfToken):
    field_order = [
        "token", "partner", "begins", "maker", "taker", "minimum", "maximum", "vat",
        "ends",
    ]  # fmt: skip
    partner = PartnerField(
        required=False,
        help_text="Login. Leave blank for all partners without their own tariff.",
    )
    begins = forms.DateTimeField(
        label="From, UTC",
        required=False,
        help_text="2027-01-31 08:00. Leave blank for the moment of its approval.",
    )
    maker = rate("Maker rate", help_text="Of the value that orders trade as maker.")
    taker = rate("Taker rate", help_text="Of the value that orders trade as taker.")
    minimum = cents("Minimum", "Once the order has traded. Leave blank for none.")
    maximum = cents("Maximum", "Leave blank for none.")
    vat = rate("Value added tax", help_text="Of the fee.")
    ends = forms.BooleanField(label="No tariff", required=False)

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        token, partner = asked["token"], asked["partner"]
        terms = None if asked["ends"] else self.terms()
        content = tariff_content(
            token, partner, asked["begins"], terms, asked["reason"]
        )
        return content, tariff_title(token, partner, terms)

    def terms(self) -> Terms:
        asked = self.cleaned_data
        maker, taker, vat = (
            None if asked[name] is None else int(100 * asked[name])
            for name in ("maker", "taker", "vat")
        )
        least, most = asked["minimum"], asked["maximum"]
        if maker is None or taker is None or vat is None:
            said = "Enter the rates of makers, takers and VAT, 0 for none."
            raise forms.ValidationError({"maker": said})
        terms = Terms(maker, taker, least or 0, most, vat)
        if most is not None and most < terms.minimum:
            said = "The maximum is below the minimum."
            raise forms.ValidationError({"maximum": said})
        return terms


class BustForm(OfToken):
    field_order = ["token", "trade", "price"]
    trade = WholeField(label="Trade", min_value=1, help_text="Trade number")
    price = EurosField(
        label="Price of the new trade, €", min_value=0, max_digits=14, required=False,
        help_text="For a correction. Leave blank for a bust alone.",
    )  # fmt: skip

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        token = asked["token"]
        trades = Execution.objects.filter(token=token)
        execution = trades.filter(sequence=asked["trade"]).first()
        if execution is None:
            said = (
                f"{token.symbol} has no trade {asked['trade']} on the internal market."
            )
            raise forms.ValidationError({"trade": said})
        price = asked["price"]
        content = bust_content(execution, asked["reason"], price)
        return content, bust_title(execution, token, price)

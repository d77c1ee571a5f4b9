"""Forms that ask for a second person about markets, trades and blocks of orders."""

from collections.abc import Mapping
from typing import Any

from django import forms

from marketdata.trading.busts import bust_content, bust_title
from marketdata.trading.controls import release_content, release_title
from marketdata.trading.models import Execution, Market, OrderBlock, Phase
from marketdata.trading.phases import reopening_content, reopening_title
from partnerapi.core.form_fields import WholeField
from partnerapi.staff.approvals.asking import AskForm, OfToken
from partnerapi.staff.picking import TokenField


class ReopenForm(OfToken):
    token = TokenField("halted")
    phase = forms.ChoiceField(
        label="Reopen as",
        choices=[
            (phase.value, phase.label) for phase in (Phase.CONTINUOUS, Phase.CLOSED)
        ],
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


class BustForm(OfToken):
    field_order = ["token", "trade"]
    trade = WholeField(label="Trade", min_value=1, help_text="Trade number")

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
        return bust_content(execution, asked["reason"]), bust_title(execution, token)

"""The form that asks for new parameters of a market."""

from collections.abc import Mapping
from datetime import date, time
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from marketdata.trading.models import (
    MOST_AT_LAST,
    Market,
    MarketParameters,
    TradingModel,
)
from marketdata.trading.parameters import latest, parameters_content, parameters_title
from partnerapi.core.form_fields import CENT, EurosField, NumberField, WholeField
from partnerapi.core.money import euros
from partnerapi.core.typed_numbers import NotANumber, typed_number
from partnerapi.staff.approvals.asking import OfToken


class DaysField(forms.CharField):
    """Days as people list them, with commas or spaces between."""

    def clean(self, value: Any) -> list[date]:
        try:
            words = super().clean(value).replace(",", " ").split()
            return sorted({date.fromisoformat(word) for word in words})
        except ValueError as error:
            raise ValidationError(f"{error}. Enter days such as 2027-12-24.") from None


class TimesField(forms.CharField):
    """Times of day as people list them, with commas or spaces between."""

    def clean(self, value: Any) -> list[time]:
        try:
            words = super().clean(value).replace(",", " ").split()
            return sorted({time.fromisoformat(word) for word in words})
        except ValueError as error:
            raise ValidationError(f"{error}. Enter times such as 11:30.") from None


class TicksField(forms.CharField):
    """Lines of a price and the tick from there on, euros; cleaned to cents."""

    def clean(self, value: Any) -> list[tuple[int, int]]:
        rows = []
        for line in super().clean(value).splitlines():
            if not (words := line.replace("€", " ").split()):
                continue
            try:
                floor, step = (100 * typed_number(word) for word in words)
                if floor % 1 or step % 1:
                    raise ValueError
            except (NotANumber, ValueError):
                raise ValidationError(
                    f"{line}: enter a price and a tick, such as 10.00 0.05."
                ) from None
            rows.append((int(floor), int(step)))
        return rows


def percents(label: str, help_text: str) -> NumberField:
    return NumberField(
        label=f"{label}, %", min_value=CENT, max_value=100 - CENT, decimal_places=2,
        help_text=help_text,
    )  # fmt: skip


class ParametersForm(OfToken):
    field_order = [
        "token", "opens", "closes", "weekdays_only", "holidays", "tick", "ticks", "lot",
        "static", "dynamic", "model", "fixings", "at_last", "most_value",
        "most_units",
    ]  # fmt: skip
    opens = forms.TimeField(label=f"Opens, {settings.MARKET_TIME_ZONE}")
    closes = forms.TimeField(
        label=f"Closes, {settings.MARKET_TIME_ZONE}",
        help_text="The same time twice means all day, ending then.",
    )
    weekdays_only = forms.BooleanField(
        label="Only from Monday to Friday", required=False
    )
    holidays = DaysField(
        label="Holidays", required=False, widget=forms.Textarea(attrs={"rows": 2}),
        help_text="Days on which no session opens, such as 2027-12-24 2027-12-31.",
    )  # fmt: skip
    tick = EurosField(
        label="Tick, €", min_value=CENT, max_digits=9,
        help_text="Limits must be multiples of it, below the first price of the table.",
    )  # fmt: skip
    ticks = TicksField(
        label="Tick table", required=False, widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Lines of a price and the tick from there on: 10.00 0.05. Leave "
        "blank for one tick.",
    )  # fmt: skip
    lot = WholeField(
        label="Lot, units", min_value=1, help_text="Quantities must be multiples of it."
    )
    static = percents(
        "Static band", "Greatest distance of limits from the reference price."
    )
    dynamic = percents("Dynamic band", "Greatest distance of prices from the last one.")
    model = forms.ChoiceField(label="Model", choices=TradingModel.choices)
    fixings = TimesField(
        label="Fixings", required=False,
        help_text=f"Times of day, {settings.MARKET_TIME_ZONE}, such as 11:30 16:30.",
    )  # fmt: skip
    at_last = WholeField(
        label="Trading at last, minutes", min_value=0, max_value=MOST_AT_LAST,
        initial=0,
        help_text="After a fixing, at its price; ten is usual, 0 for none.",
    )  # fmt: skip
    most_value = EurosField(
        label="Highest value of an order, €", required=False, min_value=CENT,
        max_digits=16, help_text="Leave blank for none.",
    )  # fmt: skip
    most_units = WholeField(
        label="Most units of an order", required=False, min_value=1,
        help_text="Leave blank for none.",
    )  # fmt: skip

    def __init__(self, data: Any = None, initial: dict[str, Any] | None = None) -> None:
        given = initial or {}
        markets = Market.objects.filter(token__symbol=given.get("token"))
        if market := markets.first():
            given = typed(latest(market.token_id)) | given
        super().__init__(data, initial=given)

    def content_and_title(self) -> tuple[Mapping[str, Any], str]:
        asked = self.cleaned_data
        wanted = MarketParameters(
            session_opens=asked["opens"],
            session_closes=asked["closes"],
            weekdays_only=asked["weekdays_only"],
            holidays=asked["holidays"],
            tick_cents=asked["tick"],
            tick_floors=[floor for floor, _ in asked["ticks"]],
            tick_steps=[step for _, step in asked["ticks"]],
            lot_units=asked["lot"],
            collar_bps=int(100 * asked["static"]),
            dynamic_band_bps=int(100 * asked["dynamic"]),
            model=asked["model"],
            fixings=asked["fixings"],
            at_last_minutes=asked["at_last"],
            most_value=asked["most_value"],
            most_units=asked["most_units"],
        )
        token = asked["token"]
        content = parameters_content(token, wanted, asked["reason"])
        return content, parameters_title(token)


def typed(parameters: MarketParameters) -> dict[str, Any]:
    """Parameters as staff would type them."""
    rows = zip(parameters.tick_floors, parameters.tick_steps, strict=True)
    value = parameters.most_value
    return {
        "opens": f"{parameters.session_opens:%H:%M}",
        "closes": f"{parameters.session_closes:%H:%M}",
        "weekdays_only": parameters.weekdays_only,
        "holidays": " ".join(day.isoformat() for day in parameters.holidays),
        "tick": in_euros(parameters.tick_cents),
        "ticks": "\n".join(f"{in_euros(a)} {in_euros(b)}" for a, b in rows),
        "lot": parameters.lot_units,
        "static": f"{parameters.collar_bps / 100:g}",
        "dynamic": f"{parameters.dynamic_band_bps / 100:g}",
        "model": parameters.model,
        "fixings": " ".join(f"{one:%H:%M}" for one in parameters.fixings),
        "at_last": parameters.at_last_minutes,
        "most_value": "" if value is None else in_euros(value),
        "most_units": parameters.most_units,
    }


def in_euros(cents: int) -> str:
    return euros(cents).removeprefix("€")

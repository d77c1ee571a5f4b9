"""Fields of forms that read numbers as people type them.

They are shown as text: a browser's field for numbers reads what it likes into a comma,
and Django takes `1.000` for 1.
"""

from decimal import Decimal
from typing import Any

from django import forms

from partnerapi.core.typed_numbers import NotANumber, typed_number, typed_whole

CENT = Decimal("0.01")
"""The least amount in euros."""


class WholeField(forms.IntegerField):
    widget = forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"})

    def to_python(self, value: Any) -> int | None:
        if isinstance(value, str) and value.strip():
            try:
                return typed_whole(value)
            except NotANumber as error:
                raise forms.ValidationError(str(error), code="invalid") from None
        return super().to_python(value)


class NumberField(forms.DecimalField):
    widget = forms.TextInput(attrs={"inputmode": "decimal", "autocomplete": "off"})

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.strip():
            try:
                return typed_number(value)
            except NotANumber as error:
                raise forms.ValidationError(str(error), code="invalid") from None
        return super().to_python(value)


class EurosField(NumberField):
    """An amount in euros, cleaned to cents; `€` may stand before or behind it.

    Bounds are euros; an initial value that is an integer is cents.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(decimal_places=2, **options)

    def clean(self, value: Any) -> int | None:
        amount = super().clean(value)
        return None if amount is None else int(100 * amount)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            value = value.strip().removeprefix("€").removesuffix("€").strip()
        return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        return in_euros(value) if isinstance(value, int) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        before = Decimal(in_euros(initial)) if isinstance(initial, int) else initial
        return super().has_changed(before, data)


def in_euros(cents: int) -> str:
    return f"{Decimal(cents) / 100:.2f}"

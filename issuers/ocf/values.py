"""Reads the values of OCF objects: dates, ids, numbers, prices."""

import re
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from issuers.ocf.objects import one_line
from partnerapi.core.numbers import MAX_UINT64

PLAIN_NUMBER = re.compile(r"[0-9]{1,19}")
NUMBER = re.compile(r"\+?[0-9]{1,30}(\.[0-9]{1,20})?")


class Broken(Exception):
    """An object breaks a rule, which the message says."""


def intern_price(price: Any) -> Any:
    """The same; of equal prices the same object, as a million issuances have few."""
    if isinstance(price, dict) and price.keys() == {"amount", "currency"}:
        amount, currency = price["amount"], price["currency"]
        if isinstance(amount, str) and isinstance(currency, str):
            return price_of(amount, currency)
    return price


@lru_cache(maxsize=20_000)
def price_of(amount: str, currency: str) -> dict[str, str]:
    return {"amount": amount, "currency": currency}


def read_time(value: Any) -> datetime:
    """A date is its midnight in UTC."""
    if not isinstance(value, str):
        raise Broken(f"date {value!r:.40} is not a date like 2026-01-31")
    return time_of(value)


@lru_cache(maxsize=20_000)
def time_of(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Broken(f"date {text!r:.40} is not a date like 2026-01-31") from None


def text_of(values: dict[str, Any], name: str, *, needed: bool = True) -> str:
    value = values.get(name)
    if value in (None, "") and not needed:
        return ""
    if not isinstance(value, str) or not value or one_line(value) != value:
        raise Broken(f"{name} is {value!r:.80}; it must be an id")
    return value


def texts_of(values: dict[str, Any], name: str) -> tuple[str, ...]:
    found = values.get(name)
    if not isinstance(found, list) or not found:
        raise Broken(f"{name} is {found!r:.80}; it must be a list of ids")
    return tuple(dict.fromkeys(text_of({name: value}, name) for value in found))


def number_of(values: dict[str, Any], name: str) -> int | Fraction:
    value = values.get(name)
    if isinstance(value, str) and PLAIN_NUMBER.fullmatch(value):
        return int(value)
    text = "" if isinstance(value, bool) or value is None else str(value).strip()
    if not NUMBER.fullmatch(text):
        raise Broken(f"{name} is {value!r:.60}; it must be a number such as 100.00")
    if Fraction(text) > MAX_UINT64:
        raise Broken(f"{name} is {text}; the limit is {MAX_UINT64}")
    number = Fraction(text)
    return number.numerator if number.denominator == 1 else number

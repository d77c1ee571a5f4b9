"""The facts of a share class of an OCF package, as a token stores them."""

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from issuers.models import Token
from issuers.ocf.comments import not_known
from issuers.ocf.objects import Item

MAX_VOTES = 2**31 - 1
MAX_DIGITS, MAX_PLACES = 20, 10
NO_FACT = "class data that cannot be kept: not in OCF form"


def share_class_facts(item: Item) -> tuple[dict[str, Any], int]:
    """The columns of the token, and how many facts cannot be kept."""
    absent = not_known(item.values)
    values = {key: item.values[key] for key in item.values.keys() - absent}
    par = values.get("par_value")
    par = par if isinstance(par, dict) else {"amount": par}
    currency = par.get("currency")
    facts = {
        "class_type": class_type(values.get("class_type")),
        "votes_per_share": votes(values.get("votes_per_share")),
        "seniority": number(values.get("seniority")),
        "nominal_value": number(par.get("amount")),
    }
    if facts["nominal_value"] is not None:
        facts["nominal_currency"] = currency_code(currency)
        if facts["nominal_currency"] is None:
            facts["nominal_value"] = None
    return facts, len(list(lost_fields(values, facts)))


def lost_fields(values: dict[str, Any], facts: dict[str, Any]) -> Iterator[str]:
    for name, column in (
        ("class_type", "class_type"), ("votes_per_share", "votes_per_share"),
        ("seniority", "seniority"), ("par_value", "nominal_value"),
    ):  # fmt: skip
        if values.get(name) not in (None, "") and facts[column] is None:
            yield name


def class_type(value: Any) -> str | None:
    return value if value in Token.ClassType.values else None


def votes(value: Any) -> int | None:
    count = number(value)
    if count is None or count != int(count) or count > MAX_VOTES:
        return None
    return int(count)


def number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        return None
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    if not found.is_finite() or found < 0 or found >= 10 ** (MAX_DIGITS - MAX_PLACES):
        return None
    return found if found == round(found, MAX_PLACES) else None


def currency_code(value: Any) -> str | None:
    is_code = isinstance(value, str) and len(value) == 3 and value.isascii()
    return value if is_code and value.isalpha() and value.isupper() else None

"""Why staff enter something in a ledger: a code, which partners read, beside a text."""

from enum import StrEnum
from typing import Any


class ReasonCode(StrEnum):
    """`label` is what staff read, `meaning` what partners read."""

    label: str
    meaning: str

    def __new__(cls, value: str, *facts: Any) -> "ReasonCode":
        row = str.__new__(cls, value)
        row._value_ = value
        row.label, row.meaning = facts
        return row

    ISSUE = "ISSUE", "Issue", "The issuer has issued shares."
    ALLOTMENT = "ALLOTMENT", "Allotment", "A subscription, or shares for employees."
    SALE = "SALE", "Sale", "A sale outside the platform's markets."
    GIFT = "GIFT", "Gift", "A gift or a donation."
    INHERITANCE = "INHERITANCE", "Inheritance", "The holder has died."
    COURT_ORDER = "COURT_ORDER", "Court order", "A court or an authority orders it."
    PLEDGE = "PLEDGE", "Enforced pledge", "A creditor enforces a pledge."
    REORGANISATION = (
        "REORGANISATION", "Reorganisation", "A merger, a split or a contribution.",
    )  # fmt: skip
    BUYBACK = "BUYBACK", "Buyback", "The issuer has bought shares back."
    REDUCTION = "REDUCTION", "Capital reduction", "The issuer has reduced its capital."
    CORRECTION = "CORRECTION", "Correction", "An earlier entry was wrong."
    OTHER = "OTHER", "Other", "Another reason, which the register keeps as a text."


CHOICES = [(code.value, code.label) for code in ReasonCode]

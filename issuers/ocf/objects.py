"""An Open Cap Table (OCF) package as objects."""

import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from partnerapi.core.problems import Problem, Problems


def problem_in(file: str, id: str, rule: str) -> Problem:
    """What is wrong with an object of a package's file, or, without an id, with it."""
    return Problem(0, id, rule, file)


@dataclass(frozen=True, slots=True)
class Item:
    """An OCF object, and the file where it stands."""

    file: str
    id: str
    type: str
    values: dict[str, Any]

    def problem(self, rule: str) -> Problem:
        return problem_in(self.file, self.id, rule)


@dataclass(slots=True)
class Package:
    issuer: Item
    file_name: str = ""
    stakeholders: dict[str, Item] = field(default_factory=dict)
    classes: dict[str, Item] = field(default_factory=dict)
    transactions: list[Any] = field(default_factory=list)
    """Those of stock that are read, as `steps.OcfStep`."""
    security_names: dict[str, str] = field(default_factory=dict)
    """Each name of a security by itself, while the package is read."""
    kinds: Counter[str] = field(default_factory=Counter)
    """All transactions of stock, by type."""
    broken: set[str] = field(default_factory=set)
    """Securities that objects name which are reported."""
    others: list[Item] = field(default_factory=list)
    """Objects of all other types, with the securities that they name."""
    left: Counter[str] = field(default_factory=Counter)
    """How often which transaction has a field that is not kept."""
    remarks: list[str] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)
    checksum: str = ""
    """SHA-256 of the objects, however the files divide and write them."""


def one_line(text: str) -> str:
    """The text with single spaces, without control characters and half pairs."""
    if (
        text.isascii()
        and text.isprintable()
        and text == text.strip()
        and "  " not in text
    ):
        return text
    kept = (c for c in " ".join(text.split()) if unicodedata.category(c)[0] != "C")
    return "".join(kept)

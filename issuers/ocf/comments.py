"""Facts without a field in OCF, which packages of this register put into comments.

Each is one of an object's comments, such as "Wallet: 0x…". `export captable
--format ocf` writes them, and `import ocf` reads them.
"""

from collections.abc import Mapping
from typing import Any

LEI, WALLET, EMAIL = "LEI", "Wallet", "E-mail"
"""Of a stakeholder; the e-mail address is a company's own."""
SYMBOL, ISIN = "Symbol", "ISIN"
"""Of a stock class."""
NOT_KNOWN = "Not known"
"""Names of fields that OCF requires and whose values are not known."""
WORDS = {LEI, WALLET, EMAIL, SYMBOL, ISIN, NOT_KNOWN}


def comments(facts: Mapping[str, str | None]) -> dict[str, list[str]]:
    """The member of an object that states these facts; none without facts."""
    lines = [f"{word}: {value}" for word, value in facts.items() if value]
    return {"comments": lines} if lines else {}


def facts(values: Mapping[str, Any]) -> dict[str, str]:
    """The facts in an object's comments, by the word with which each begins."""
    return dict(filter(None, map(fact, comments_of(values))))


def not_known(values: Mapping[str, Any]) -> set[str]:
    """The fields that an object has only because OCF requires them."""
    return set(facts(values).get(NOT_KNOWN, "").split(", "))


def says_more(values: Mapping[str, Any]) -> bool:
    """Whether a comment of an object says anything else."""
    return not all(map(fact, comments_of(values)))


def comments_of(values: Mapping[str, Any]) -> list[Any]:
    found = values.get("comments") or []
    return found if isinstance(found, list) else [found]


def fact(comment: Any) -> tuple[str, str] | None:
    if not isinstance(comment, str):
        return None
    word, _, value = comment.partition(": ")
    return (word, value) if word in WORDS and value else None

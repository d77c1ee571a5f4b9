"""Answers that documents show, against answers as they are: by shape, not by value."""

from collections.abc import Iterator
from typing import Any

EXACT = {"code", "__typename", "outcome", "type", "validateOnly"}
"""Members whose values are compared, too."""


def differences(shown: Any, answered: Any) -> list[str]:
    """Where an answer has other members or other kinds of values than is shown.

    Of a list each item that is shown is compared with the one at its place, or with the
    last.
    """
    return list(differences_at("", shown, answered))


def differences_at(path: str, shown: Any, answered: Any) -> Iterator[str]:
    if type(shown) is not type(answered):
        yield f"{path}: shown is {shown!r}, answered {answered!r}"
    elif isinstance(shown, dict):
        if shown.keys() != answered.keys():
            yield f"{path}: members {sorted(shown)}, answered {sorted(answered)}"
            return
        for name, value in shown.items():
            yield from differences_at(f"{path}.{name}", value, answered[name])
            if name in EXACT and value != answered[name]:
                yield f"{path}.{name}: {value!r}, answered {answered[name]!r}"
    elif isinstance(shown, list):
        if bool(shown) != bool(answered):
            yield f"{path}: {len(shown)} items, answered {len(answered)}"
            return
        for number, value in enumerate(shown):
            found = answered[min(number, len(answered) - 1)]
            yield from differences_at(f"{path}.{number}", value, found)

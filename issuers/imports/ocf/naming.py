"""Names and ids of what an OCF package brings."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from issuers.imports.ocf.reading import Item, Package, plain
from partnerapi.core.uuids import derived_uuid7

# Ids come from the package alone: the same one is recognised wherever it is imported.
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
MAX_NAME = 200


def derived(name: str) -> UUID:
    return derived_uuid7(EPOCH, f"OCF {name}")


def text(item: Item, name: str, value: Any, package: Package) -> str:
    """A name in one line; when it is none, that is one of the package's problems."""
    if not isinstance(value, str) or not plain(value):
        package.problems.append(item.problem(f"{name} is {value!r:.60}; give a name"))
        return ""
    if len(plain(value)) > MAX_NAME:
        rule = f"{name} has {len(value)} characters, at most {MAX_NAME} are kept"
        package.problems.append(item.problem(rule))
    return plain(value)

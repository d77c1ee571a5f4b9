"""Names and ids of the rows that an OCF package becomes."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from issuers.ocf.objects import Item, Package, one_line
from partnerapi.core.uuids import derived_uuid7

# Ids come from the package alone, so every installation recognises it.
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
MAX_NAME = 200


def derive_id(name: str) -> UUID:
    return derived_uuid7(EPOCH, f"OCF {name}")


def read_name(item: Item, name: str, value: Any, package: Package) -> str:
    """A name in one line; a missing name is added to the package's problems."""
    if not isinstance(value, str) or not one_line(value):
        package.problems.append(
            item.problem(f"{name} is {value!r:.60}; it must be a name")
        )
        return ""
    if len(one_line(value)) > MAX_NAME:
        rule = f"{name} has {len(value)} characters; the limit is {MAX_NAME}"
        package.problems.append(item.problem(rule))
    return one_line(value)

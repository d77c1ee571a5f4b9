"""Version 7 UUIDs for rows that must carry the same id in every installation."""

import hashlib
from datetime import UTC, datetime
from uuid import UUID

VERSION_AND_VARIANT = 0x7 << 76 | 0b10 << 62
RANDOM_BITS = (1 << 80) - 1 & ~(0xF << 76 | 0b11 << 62)


def derived_uuid7(at: datetime, name: str) -> UUID:
    """The id with the time `at`; its random part is a digest of `name`."""
    digest = hashlib.blake2b(name.encode(), digest_size=10).digest()
    return uuid7_of(at, int.from_bytes(digest))


def uuid7_of(at: datetime, bits: int) -> UUID:
    """The id with the time `at`; its random part is the lowest 80 of `bits`."""
    milliseconds = int(at.astimezone(UTC).timestamp() * 1000)
    return UUID(int=milliseconds << 80 | bits & RANDOM_BITS | VERSION_AND_VARIANT)

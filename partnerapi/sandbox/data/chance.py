"""Chance that falls the same way every time: all of it follows from names."""

import hashlib
import random
from datetime import UTC, datetime, timedelta

import stdnum.isin
import stdnum.iso7064.mod_97_10

OPENING = datetime(2023, 1, 9, 9, tzinfo=UTC)
"""When the first invented company joined."""


def dice(*names: object) -> random.Random:
    return random.Random("/".join(map(str, names)))


def moment_after(at: datetime, days: int, *names: object) -> datetime:
    """Some working hour `days` after `at`."""
    chance = dice("moment", *names)
    return (at + timedelta(days=days)).replace(
        hour=chance.randrange(7, 18),
        minute=chance.randrange(60),
        second=chance.randrange(60),
        microsecond=chance.randrange(1_000_000),
    )


def invented_lei(name: str) -> str:
    """A well-formed LEI under a prefix that no issuer of LEIs has."""
    digits = int(hashlib.sha256(name.encode()).hexdigest(), 16) % 10**14
    number = f"0000{digits:014d}"
    return number + stdnum.iso7064.mod_97_10.calc_check_digits(number)


def invented_isin(country: str, number: int) -> str:
    """A well-formed ISIN whose national part says that it is a sandbox's."""
    code = f"{country}SANDBX{number:03d}"
    return code + stdnum.isin.calc_check_digit(code)


def invented_contract(name: str) -> str:
    return "0x" + hashlib.sha256(name.encode()).hexdigest()[:40]

"""The parts of a layout, and the tags that name an instrument.

Standard library only.
"""

from typing import NamedTuple


class Tag(NamedTuple):
    """A field of a message; `group` is the tag that counts its entries.

    `when` states the condition for an optional field.
    """

    number: int
    name: str
    meaning: str
    always: bool = True
    when: str = ""
    group: int = 0


class Layout(NamedTuple):
    """A type of message, 35=`type`; `sent_by` is "partner", "us" or "both"."""

    type: str
    name: str
    sent_by: str
    purpose: str
    tags: tuple[Tag, ...]


SYMBOL = "The token's symbol"
ISIN = "The ISIN where 22=4, the token's id where 22=8."


def instrument(group: int) -> tuple[Tag, ...]:
    return (
        Tag(55, "Symbol", f"{SYMBOL}.", group=group),
        Tag(48, "SecurityID", ISIN, group=group),
        Tag(22, "SecurityIDSource", "4: ISIN. 8: ours.", group=group),
    )

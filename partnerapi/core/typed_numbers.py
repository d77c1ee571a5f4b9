"""Numbers as people type them: read as they are meant, or refused.

A dot or comma parts thousands in one country and decimals in another. Text that can be
read as two numbers is refused, and the refusal says what to write.
"""

import re
from decimal import Decimal

MOST_CHARACTERS = 40
SPACES = " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}'\N{RIGHT SINGLE QUOTATION MARK}_"  # noqa: E501
"""What parts thousands everywhere."""
TYPED = re.compile(
    rf"(?P<sign>[+\N{{MINUS SIGN}}-]?)"
    rf"(?P<whole>[0-9]+|[0-9]{{1,3}}(?P<parts>[{SPACES}.,])[0-9]{{3}}"
    rf"(?:(?P=parts)[0-9]{{3}})*)"
    rf"(?:(?P<mark>[.,])(?P<decimals>[0-9]+))?"
)
TWO_WAYS = re.compile(r"(?P<sign>[+\N{MINUS SIGN}-]?)(?P<first>[1-9][0-9]{0,2})"
    r"[.,](?P<last>[0-9]{3})")  # fmt: skip


class NotANumber(ValueError):
    """The text is not a number, or could be two; the message says what to write."""


def typed_number(text: str) -> Decimal:
    """`1 250`, `1,250.5` or `1.250,50` as a number; ASCII digits only.

    Raises:
        NotANumber
    """
    typed = text.strip()
    if two := TWO_WAYS.fullmatch(typed):
        whole, part = f"{two['first']}{two['last']}", f"{two['first']}.{two['last']}"
        shortest = f"{Decimal(part).normalize():f}"
        # Three decimals would be read two ways again.
        shortest += "0" * bool(TWO_WAYS.fullmatch(shortest))
        raise NotANumber(
            f"{typed} can mean {whole} or {part}. Write {whole} or {shortest}."
        )
    found = TYPED.fullmatch(typed) if len(typed) <= MOST_CHARACTERS else None
    if found is None or found["mark"] and found["mark"] == found["parts"]:
        raise NotANumber(
            f"{typed[:MOST_CHARACTERS]} is not a number. Write digits with a dot "
            "before the decimals, such as 1250 or 2.5."
        )
    digits = re.sub("[^0-9]", "", found["whole"])
    number = Decimal(f"{digits}.{found['decimals']}" if found["mark"] else digits)
    return -number if found["sign"] in ("-", "\N{MINUS SIGN}") else number


def typed_whole(text: str) -> int:
    """A whole number, written without decimals: `12,00` may be meant as an amount.

    Raises:
        NotANumber
    """
    number = typed_number(text)
    if number.as_tuple().exponent:
        raise NotANumber(
            f"{text.strip()} is not a whole number. Write digits alone, such as 1250."
        )
    return int(number)

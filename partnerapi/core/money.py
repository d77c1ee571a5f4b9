"""Amounts of money, counts and shares, as people read them."""

from decimal import Decimal


def euros(cents: int) -> str:
    """`€1,234.56`; a minus sign stands before the currency."""
    sign, digits = "−" * (cents < 0), abs(cents)
    return f"{sign}€{digits // 100:,}.{digits % 100:02}"


def percent(part: int, whole: int) -> str:
    """`12.35%`; `0%` of nothing."""
    return f"{Decimal(100 * part) / whole:,.2f}%" if whole else "0%"


def growth(before: int, after: int) -> str:
    """The number after, and how much more or less that is: `150 (+50.00%)`."""
    if not before:
        return f"{after:,}"
    return f"{after:,} ({Decimal(100 * (after - before)) / before:+,.2f}%)"


def plural(number: int, what: str) -> str:
    """`1 line`, `1,250 lines`; what is counted has a regular plural."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"

"""Amounts of money, as people read them."""


def euros(cents: int) -> str:
    """`€1,234.56`; a minus sign stands before the currency."""
    sign, digits = "−" * (cents < 0), abs(cents)
    return f"{sign}€{digits // 100:,}.{digits % 100:02}"

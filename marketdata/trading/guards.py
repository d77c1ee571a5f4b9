"""What guards our markets: `verify market` compares it with its list."""

from pathlib import Path

from partnerapi.core.guard_lists import Guarded

GUARDED = Guarded(
    Path(__file__).with_name("guards.txt"),
    (
        "trading_bust",
        "trading_execution",
        "trading_market",
        "trading_order",
        "trading_orderevent",
    ),
    ("trading\\_",),
)
"""`manage.py write guards` writes the list, of a database that was just migrated."""

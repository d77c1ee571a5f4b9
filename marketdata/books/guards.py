"""What guards the order books: `verify books` compares it with its list."""

from pathlib import Path

from partnerapi.core.guard_lists import Guarded

GUARDED = Guarded(
    Path(__file__).with_name("guards.txt"),
    (
        "marketdata_bookchange",
        "marketdata_booklevel",
        "marketdata_booksnapshot",
        "marketdata_orderbookhead",
        "marketdata_trade",
        "marketdata_tradingday",
    ),
    ("marketdata\\_",),
)
"""`manage.py write guards` writes the list, of a database that was just migrated."""

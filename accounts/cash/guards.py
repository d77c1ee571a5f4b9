"""What guards cash: `verify cash` compares it with its list."""

from pathlib import Path

from partnerapi.core.guard_lists import Guarded

GUARDED = Guarded(
    Path(__file__).with_name("guards.txt"),
    (
        "accounts_bankline",
        "accounts_bankstatement",
        "accounts_cashaccount",
        "accounts_cashhead",
        "accounts_cashposting",
        "accounts_cashtransaction",
        "accounts_withdrawal",
    ),
    ("cash\\_",),
)
"""`manage.py write guards` writes the list, of a database that was just migrated."""

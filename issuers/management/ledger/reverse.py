from django.core.management.base import CommandError

from issuers.management.register_command import (
    RegisterCommand,
    actor,
    add_code,
    add_reason,
    enter,
    request_entry,
    token_named,
    units,
    whole,
    writing,
)
from issuers.register import ledger
from issuers.register.models import LedgerTransaction
from issuers.register.reasons import ReasonCode
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Reverse an entry of a token's ledger, in full, by another entry.

The units return to their source; the account that received them must still hold enough.
A delivery of legacy shares can also be reversed: its line stays DELIVERED, and a new
line may replace it.

examples:
  manage.py ledger reverse ACME 12 --staff ana@example.com --reason "Typing error" \\
      --dry-run
  manage.py ledger reverse ACME 12 --staff ana@example.com --reason "Typing error"
"""

    def add_own_arguments(self, parser):
        parser.add_argument(
            "entry",
            type=whole,
            help="entry number; the admin shows a token's last entries",
        )
        add_reason(parser)
        add_code(parser)

    def handle(
        self, *, symbol, entry, staff, reason, code, dry_run, request, approval,
        **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        mistaken = LedgerTransaction.objects.filter(token=token, seq=entry).first()
        if mistaken is None:
            raise CommandError(f"{symbol} has no entry {entry}. Nothing was written.")
        reversal = ledger.reversal_of(mistaken, reason, code and ReasonCode(code))
        tries = dry_run or request
        with writing(tries, approval):
            recorded, supply_after = enter(reversal, who, tries)
        if request and not dry_run:
            return request_entry(reversal, token_named(symbol), staff)
        supply = f"supply {supply_after:,}"
        said = f"Entry {entry} of {symbol} ({mistaken.kind}, {units(mistaken.amount)})"
        if dry_run:
            return f"{said} would be reversed; {supply}{DRY_RUN}"
        return f"{said} is reversed by entry {recorded.number}; {supply}."

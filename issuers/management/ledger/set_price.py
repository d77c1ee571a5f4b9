from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.management.people import active_staff, file_for_approval
from issuers.management.register_command import (
    RegisterCommand,
    actor,
    reason_text,
    token_named,
    whole,
    writing,
)
from issuers.register import ledger
from issuers.register.approvals import price_content, price_title
from issuers.register.models import TokenPrice
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Record a new price per unit of a token, in euro cents.

Capitalization tables of the past keep their prices.

examples:
  manage.py ledger set-price ACME 1250 --staff ana@example.com
  manage.py ledger set-price ACME 1310 --source NAV --staff ana@example.com --dry-run
"""

    def add_own_arguments(self, parser):
        parser.add_argument("cents", type=whole, help="price per unit, euro cents")
        parser.add_argument(
            "--source",
            choices=[source.value for source in TokenPrice.STAFF_SOURCES],
            default=TokenPrice.Source.MANUAL.value,
            help="source of the price",
        )
        parser.add_argument(
            "--reason", metavar="TEXT", type=reason_text, help="reason, for --request"
        )

    def handle(
        self, *, symbol, cents, source, staff, reason, dry_run, request, approval,
        **options,
    ):  # fmt: skip
        who, token = actor(staff), token_named(symbol)
        if request and not reason:
            raise CommandError("Give a --reason; the approver sees it.")
        before = token.ledger_head.price_cents
        tries = dry_run or request
        with writing(tries, approval):
            if tries:
                recorded = ledger.DryRun().set_price(
                    ledger.Price(token.pk, cents, source)
                )
            else:
                recorded = ledger.set_price(token.pk, cents, source, who)
        if request and not dry_run:
            return file_for_approval(
                ApprovalKind.PRICE,
                price_content(token.pk, cents, source),
                price_title(token, cents),
                reason or "",
                active_staff("--staff", staff),
            )
        was = "no price before" if before is None else f"{before:,} before"
        if dry_run:
            return (
                f"The price of {symbol} would be {cents:,} cents per unit; "
                f"{was}{DRY_RUN}"
            )
        at = recorded.effective_at.isoformat()
        return f"The price of {symbol} is {cents:,} cents per unit from {at}; {was}."

from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.management.people import active_staff, filed
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
    help = """Record what a unit of a token costs from now on, in euro cents.

Earlier tables keep the price that they had.

examples:
  manage.py ledger set-price ACME 1250 --staff ana@example.com
  manage.py ledger set-price ACME 1310 --source NAV --staff ana@example.com --dry-run
"""

    def add_own_arguments(self, parser):
        parser.add_argument("cents", type=whole, help="price of a unit, euro cents")
        parser.add_argument(
            "--source",
            choices=[source.value for source in TokenPrice.STAFF_SOURCES],
            default=TokenPrice.Source.MANUAL.value,
            help="where the price comes from",
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
        with writing(dry_run or request, approval):
            recorded = ledger.set_price(token.pk, cents, source, who)
        if request and not dry_run:
            return filed(
                ApprovalKind.PRICE,
                price_content(token.pk, cents, source),
                price_title(token, cents),
                reason or "",
                active_staff("--staff", staff),
            )
        was = "it had none" if before is None else f"it was {before:,}"
        if dry_run:
            return f"A unit of {symbol} would cost {cents:,} cents; {was}{DRY_RUN}"
        at = recorded.effective_at.isoformat()
        return f"A unit of {symbol} costs {cents:,} cents from {at}; {was}."

from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind, ApprovalRequest
from accounts.management.people import active_staff, file_for_approval
from issuers.management.register_command import (
    RegisterCommand,
    actor,
    add_reason,
    token_named,
    whole,
    writing,
)
from marketdata.trading.busts import NotBusted, bust, bust_content, bust_title
from marketdata.trading.models import Execution
from partnerapi.core.commands import DRY_RUN


class Command(RegisterCommand):
    help = """Undo a trade of an internal market: its units and cash are returned
together.

One person requests it, another approves it. The seller must still have the cash and
the buyer the units, not reserved by their open orders. If the trade's price is still
the token's last price, the price before it is recorded again. With --price, another
trade of the same orders and units takes its place, within their limits: today's tick
and rules judge it. Partners and FIX sessions are notified, both sides also of the
request.

examples:
  manage.py market bust ACME 12 --reason "Mistyped" --request --staff ana@example.com
  manage.py market bust ACME 12 --price 1010 --reason "Mistyped" --dry-run
  manage.py market bust ACME 12 --reason "Mistyped" --staff ana@example.com \\
      --approval 0190c3a1-0000-7000-8000-000000000000
"""

    def add_own_arguments(self, parser):
        parser.add_argument("trade", type=whole, help="its number on the tape")
        parser.add_argument(
            "--price", type=whole, help="of the trade in its place, euro cents"
        )
        add_reason(parser)

    def handle(
        self,
        *,
        symbol,
        trade,
        price,
        staff,
        reason,
        dry_run,
        request,
        approval,
        **options,
    ):
        who, token = actor(staff), token_named(symbol)
        execution = Execution.objects.filter(token=token, sequence=trade).first()
        if execution is None:
            raise CommandError(f"{symbol} has no internal market, or no trade {trade}.")
        if request and not dry_run:
            return file_for_approval(
                ApprovalKind.BUST,
                bust_content(execution, reason, price),
                bust_title(execution, token, price),
                reason,
                active_staff("--staff", staff),
            )
        decided = ApprovalRequest.objects.filter(pk=approval).first()
        requested_by = decided.filed_by.email if decided else who
        decision = getattr(decided, "decision", None)
        approved_by = decision.decided_by.email if decision else ""
        try:
            with writing(dry_run, approval):
                made = bust(token.pk, trade, reason, requested_by, approved_by, price)
        except NotBusted as error:
            raise CommandError(f"{error} Nothing was written.") from None
        done = "busted" if price is None else "corrected"
        if dry_run:
            return f"Trade {trade} of {symbol} would be {done}{DRY_RUN}"
        return f"Trade {trade} of {symbol} was {done} by entry {made.ledger_seq}."

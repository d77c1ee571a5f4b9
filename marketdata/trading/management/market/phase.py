from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.management.people import active_staff, file_for_approval
from issuers.management.register_command import (
    RegisterCommand,
    actor,
    add_reason,
    token_named,
    writing,
)
from marketdata.trading.models import Market, Phase
from marketdata.trading.phases import (
    PhaseRefused,
    change_phase,
    reopening_content,
    reopening_title,
)
from partnerapi.core.commands import DRY_RUN

PHASES = [phase.value for phase in Phase]


class Command(RegisterCommand):
    help = """Halt an internal market, or move it to another phase.

One person may halt a market, with a reason: orders stay, can be cancelled, and do not
trade. Reopening it is requested by one person and approved by another: --request, then
--approval. It reopens by the auction of a CALL, which takes five minutes, more or less
half a minute, or as CLOSED.

examples:
  manage.py market phase ACME HALTED --reason "News" --staff ana@example.com
  manage.py market phase ACME CALL --reason "News is out" --request \\
      --staff ana@example.com
"""

    def add_own_arguments(self, parser):
        parser.add_argument(
            "phase", metavar="PHASE", choices=PHASES, help=" or ".join(PHASES)
        )
        add_reason(parser)

    def handle(
        self, *, symbol, phase, staff, reason, dry_run, request, approval, **options
    ):
        who, token = actor(staff), token_named(symbol)
        market = Market.objects.filter(token=token).first()
        if market is None:
            raise CommandError(
                f"{symbol} has no internal market; market open {symbol} opens one."
            )
        if request and not dry_run:
            if market.phase != Phase.HALTED:
                raise CommandError(
                    f"{symbol} is {market.phase}; this needs no approval."
                )
            return file_for_approval(
                ApprovalKind.REOPEN,
                reopening_content(market, phase),
                reopening_title(market, phase),
                reason,
                active_staff("--staff", staff),
            )
        try:
            with writing(dry_run, approval):
                change_phase(token.pk, phase, who, reason)
        except PhaseRefused as error:
            raise CommandError(f"{error} Nothing was written.") from None
        if dry_run:
            return f"The market of {symbol} would become {phase}{DRY_RUN}"
        return f"The market of {symbol} is {phase}."

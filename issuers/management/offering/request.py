from uuid import UUID

from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.management.people import active_staff, add_staff, file_for_approval
from issuers.management.offering.show import offering_named
from issuers.management.register_command import add_reason, whole
from issuers.offerings.deciding import (
    PRICE,
    TITLES,
    OfferingRefused,
    offering_content,
    offering_title,
    settlement_content,
    settlement_title,
)
from partnerapi.core.commands import DRY_RUN, DryRunCommand

SETTLE = "SETTLE"


class Command(DryRunCommand):
    help = """Request a step of an offering, which another person approves.

OPEN takes subscriptions, PRICE sets the price of a book, ALLOT gives each subscription
its units, SETTLE moves units and cash; WITHDRAWN and FAILED release all cash. What is
approved is carried out at once, except SETTLE: see offering settle.

examples:
  manage.py offering request 0190c3a1-0000-7000-8000-000000000000 OPEN \\
      --reason "Board of 3 March" --staff ana@example.com
  manage.py offering request 0190c3a1-0000-7000-8000-000000000000 PRICE --price 1250 \\
      --reason "From the book" --staff ana@example.com --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("offering", type=UUID, help="the offering's id")
        steps = [*TITLES, SETTLE]
        parser.add_argument(
            "step", metavar="STEP", choices=steps, help=" or ".join(steps)
        )
        parser.add_argument(
            "--price", metavar="CENTS", type=whole, help="of a unit; for PRICE alone"
        )
        add_reason(parser)
        add_staff(parser)

    def handle(self, *, offering, step, price, reason, staff, dry_run, **options):
        person, found = active_staff("--staff", staff), offering_named(offering)
        if (step == PRICE) != (price is not None):
            raise CommandError("--price is for PRICE, and PRICE needs it.")
        try:
            if step == SETTLE:
                kind, title = ApprovalKind.SETTLEMENT, settlement_title(found)
                content = settlement_content(found)
            else:
                kind, title = ApprovalKind.OFFERING, offering_title(found, step)
                content = offering_content(found, step, price, reason)
        except OfferingRefused as error:
            raise CommandError(f"{error} Nothing was requested.") from None
        if dry_run:
            return f"{title}: would be requested{DRY_RUN}"
        return file_for_approval(kind, content, title, reason, person)

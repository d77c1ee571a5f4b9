from uuid import UUID

from django.core.management.base import CommandError

from accounts.approvals.four_eyes import NotApproved
from accounts.management.people import active_staff, add_staff
from issuers.management.offering.show import offering_named
from issuers.offerings.deciding import (
    OfferingRefused,
    settle,
    settlement_content,
)
from partnerapi.core.commands import DRY_RUN, DryRunCommand
from partnerapi.core.lock_waits import LockTimeout
from partnerapi.core.money import euros


class Command(DryRunCommand):
    help = """Settle an allotted offering, as two people decided; it is final.

Units move to the investors and their cash to the issuer, in one transaction. Choose a
minute outside the sessions of markets: while it runs, orders of the investors are
refused as UNAVAILABLE. Request it first with offering request ID SETTLE.

examples:
  manage.py offering settle 0190c3a1-0000-7000-8000-000000000000 --staff ana@example.com \\
      --approval 0190c3a2-0000-7000-8000-000000000000
"""  # noqa: E501

    def add_arguments(self, parser):
        parser.add_argument("offering", type=UUID, help="the offering's id")
        parser.add_argument(
            "--approval", metavar="ID", type=UUID, required=True,
            help="the approved request",
        )  # fmt: skip
        add_staff(parser)

    def handle(self, *, offering, approval, staff, dry_run, **options):
        person, found = active_staff("--staff", staff), offering_named(offering)
        try:
            content = settlement_content(found)
            cents = euros(content["cents"])
            said = f"{content['units']:,} units of {found.token} for {cents}"
            if dry_run:
                return f"{said} would be settled{DRY_RUN}"
            settle(found, approval, person.email or "")
        except (NotApproved, OfferingRefused, LockTimeout) as error:
            raise CommandError(f"{error} Nothing was settled.") from None
        return f"{said} are settled."

from uuid import UUID

from django.core.management.base import CommandError

from accounts.approvals.four_eyes import NotApproved
from accounts.management.people import active_staff, add_staff
from issuers.management.offering.show import offering_named
from issuers.management.register_command import add_reason, writing
from issuers.offerings.deciding import OfferingRefused, withdraw_draft
from partnerapi.core.commands import DRY_RUN, DryRunCommand


class Command(DryRunCommand):
    help = """Withdraw a draft of an offering, which partners never saw.

An offering that was opened is withdrawn by two people: offering request ID WITHDRAWN.

examples:
  manage.py offering withdraw 0190c3a1-0000-7000-8000-000000000000 \\
      --reason "Another price" --staff ana@example.com
  manage.py offering withdraw 0190c3a1-0000-7000-8000-000000000000 \\
      --reason "Another price" --staff ana@example.com --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument("offering", type=UUID, help="the draft's id")
        add_reason(parser)
        add_staff(parser)

    def handle(self, *, offering, reason, staff, dry_run, **options):
        person, draft = active_staff("--staff", staff), offering_named(offering)
        try:
            with writing(dry_run):
                withdraw_draft(draft, reason, person.email or "")
        except (NotApproved, OfferingRefused) as error:
            raise CommandError(f"{error} Nothing was withdrawn.") from None
        if dry_run:
            return f"The draft of {draft.token} would be withdrawn{DRY_RUN}"
        return f"The draft of {draft.token} is withdrawn."

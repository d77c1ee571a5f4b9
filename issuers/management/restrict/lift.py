from uuid import UUID

from django.core.management.base import CommandError

from accounts.approvals.models import ApprovalKind
from accounts.management.people import (
    active_staff,
    add_second_person,
    add_staff,
    file_for_approval,
)
from issuers.compliance import restrictions
from issuers.compliance.models import Restriction
from issuers.management.register_command import add_reason, writing
from issuers.management.restricting import describe
from partnerapi.core.commands import DRY_RUN, DryRunCommand


class Command(DryRunCommand):
    help = """End a freeze, a lock-up or a pledge early.

A second member of staff approves it. The admin lists restrictions with their ids.

examples:
  manage.py restrict lift 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11 \\
      --staff ana@example.com --reason "The court has lifted it" --request
  manage.py restrict lift 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11 \\
      --staff ana@example.com --reason "The court has lifted it" \\
      --approval 019376a2-7d2f-7c15-8d66-3a1f7a7a2e22
"""

    def add_arguments(self, parser):
        parser.add_argument("restriction", type=UUID, help="restriction id")
        add_reason(parser)
        add_staff(parser)
        add_second_person(parser)

    def handle(
        self, *, restriction, reason, staff, dry_run, request, approval, **options
    ):
        person = active_staff("--staff", staff)
        found = Restriction.objects.select_related("ledger_account__holder", "token")
        named = found.filter(pk=restriction).first()
        if named is None or named.ended_at:
            raise CommandError(
                f"There is no active restriction {restriction}. Nothing was written."
            )
        if request and not dry_run:
            content = restrictions.lifting_content(named)
            title = restrictions.lifting_title(named)
            return file_for_approval(
                ApprovalKind.LIFTING, content, title, reason, person
            )
        if not dry_run:
            with writing(dry_run, approval):
                restrictions.end(named, person.email or "")
        return f"Lifted: {describe(named)}{DRY_RUN if dry_run else '.'}"

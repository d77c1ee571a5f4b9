from argparse import ArgumentTypeError
from uuid import UUID

from django.core.management.base import CommandError
from django.db import transaction

from accounts.accounts.approvals import closing_content, closing_title
from accounts.accounts.models import (
    Account,
    AccountNotEmpty,
    AccountStatusChange,
    Actor,
    InvalidStatusTransition,
    Right,
    allowed_statuses,
)
from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.approvals.models import ApprovalKind
from accounts.management.people import (
    active_staff,
    add_second_person,
    add_staff,
    approver,
    file_for_approval,
)
from partnerapi.core.commands import DRY_RUN, DryRunCommand

LONGEST_REASON = AccountStatusChange._meta.get_field("reason").max_length


def reason_text(text):
    if not text.strip() or len(text) > LONGEST_REASON:
        raise ArgumentTypeError(
            f"{len(text)} characters; give 1 to {LONGEST_REASON}, or omit it"
        )
    return text.strip()


class Command(DryRunCommand):
    help = """Change the status of an account, in the name of a member of staff.

PENDING becomes ACTIVE or REJECTED. ACTIVE and SUSPENDED become each other, or CLOSED,
which a second member of staff approves. CLOSED and REJECTED are final. The partner
reads the reason, but no name of staff.

examples:
  manage.py account status 019376a2-5c1e-7b04-9c55-2f0e6f6f1d11 ACTIVE \\
      --staff ana@example.com --reason "Identity checked"
  manage.py account status 'Account|019376a2-5c1e-7b04-9c55-2f0e6f6f1d11' \\
      CLOSED --staff ana@example.com --reason "Requested by letter" --request
"""

    def add_arguments(self, parser):
        parser.add_argument("account", help="the account's id")
        parser.add_argument(
            "status",
            type=str.upper,
            choices=Account.Status.values,
            help=("the new status"),
        )
        add_staff(parser)
        add_second_person(parser)
        parser.add_argument(
            "--reason",
            metavar="TEXT",
            type=reason_text,
            help="reason, for the history; visible to the partner",
        )

    def handle(
        self, *, account, status, staff, reason, dry_run, request, approval, **options
    ):
        person = active_staff("--staff", staff, "accounts.change_account")
        account = account_named(account)
        if request:
            return request_closing(account, status, reason, person, dry_run)
        actor = Actor(person.email, True, approver(approval) if approval else "")
        try:
            with carrying([approval] if approval else []):
                previous = account.change_status(status, actor, reason)
                transaction.set_rollback(dry_run)
        except InvalidStatusTransition:
            raise refusal(account, status, actor) from None
        except (AccountNotEmpty, NotApproved) as error:
            raise CommandError(f"{error} Nothing was written.") from None
        named = f"Account|{account.pk} of {account}"
        if previous == status:
            return f"{named} is already {status}; nothing was written."
        if dry_run:
            return f"{named} would change from {previous} to {status}{DRY_RUN}"
        return f"{named} changed from {previous} to {status}."


def request_closing(account, status, reason, person, dry_run):
    """File a request to close the account."""
    alone = allowed_statuses(account.status, {Right.STAFF_APPROVED})
    if status not in alone:
        raise CommandError(
            f"--request applies only to {' or '.join(alone) or 'no status'} of this "
            "account. Nothing was written."
        )
    if not reason:
        raise CommandError("Give a --reason; the approver sees it.")
    if dry_run:
        return f"A request to close {account} could be filed{DRY_RUN}"
    content = closing_content(account, reason)
    return file_for_approval(
        ApprovalKind.CLOSING, content, closing_title(account), reason, person
    )


def account_named(text):
    accounts = Account.objects.select_related("partner", "user")
    try:
        return accounts.get(pk=UUID(text.removeprefix("Account|")))
    except ValueError:
        raise CommandError(
            f"{text} is not the id of an account: Account|, which may be left out, and "
            "a UUID."
        ) from None
    except Account.DoesNotExist:
        raise CommandError(
            f"There is no account {text}. The admin lists accounts with their ids."
        ) from None


def refusal(account, status, actor):
    account.refresh_from_db()
    alone = allowed_statuses(account.status, {Right.STAFF})
    together = allowed_statuses(account.status, {Right.STAFF_APPROVED})
    if status in together and not actor.approved_by:
        return CommandError(
            f"The account is {account.status}; {status} needs the approval of a second "
            "member of staff: use --request. Nothing was written."
        )
    possible = [*alone, *(f"{one} with --approval" for one in together)]
    return CommandError(
        f"The account is {account.status} and cannot become {status}; allowed: "
        f"{', '.join(possible) or 'nothing, it is final'}. Nothing was written."
    )

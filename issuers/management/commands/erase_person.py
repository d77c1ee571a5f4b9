from argparse import ArgumentTypeError
from collections.abc import Mapping
from uuid import UUID

from django.core.management.base import CommandError

from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.approvals.models import ApprovalKind
from accounts.management.people import (
    active_staff,
    add_second_person,
    add_staff,
    file_for_approval,
    user_named,
)
from issuers.register.erasure import (
    Found,
    NotErasable,
    days_kept,
    erase,
    erasure_content,
    erasure_title,
    found,
)
from partnerapi.core import lock_waits
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, text_table


def period(text: str) -> tuple[str, int]:
    """TABLE=DAYS."""
    table, _, days = text.partition("=")
    if not days.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not TABLE=DAYS, such as trading_bust=30")
    return table, int(days)


class Command(DryRunCommand):
    help = """Erase a person: names, salts, and texts that name them.

The person must have no units, no pending legacy shares and no open account, and must own
no issuer. The register then calls the person "erased person N". Old statements and proofs
stay valid: their commitments stay, and reveal nothing without the salts. The next
statement has the record of the erasure. Texts that a law keeps longer stay until their
retention ends: repeat the command then. The page Proof has these periods, and what else
contains names: answers, exports, logs and backups.

A second person approves: file a request, then pass its id with the same periods.

examples:
  manage.py erase_person 0187ae1f-56e3-7218-a6ce-8fa1fc06110a --staff bo@example.com --dry-run
  manage.py erase_person jo@example.com --staff bo@example.com --request
  manage.py erase_person jo@example.com --staff bo@example.com --keep accounts_payee=0 --request
"""  # noqa: E501

    def add_arguments(self, parser):
        parser.add_argument("person", help="email address, wallet address or id")
        parser.add_argument(
            "--keep",
            metavar="TABLE=DAYS",
            type=period,
            action="append",
            default=[],
            help="days for which the rows of a table keep their texts",
        )
        add_staff(parser)
        add_second_person(parser)

    def handle(self, *, person, keep, staff, dry_run, request, approval, **options):
        user, actor = user_named(person), active_staff("--staff", staff)
        kept = days_kept() | dict(keep)
        if request:
            return file_for_approval(
                ApprovalKind.ERASURE,
                erasure_content(user.pk, kept),
                erasure_title(user.pk),
                "Erasure of a person",
                actor,
            )
        tables = found(user.pk, kept)
        self.stdout.write(summary(tables))
        if not dry_run:
            erased = carry_out(user.pk, actor.email, kept, approval, len(tables))
            return f"Erasure {erased}: the next statement has its record."
        count = sum(len(table.erased) for table in tables)
        return f"{count:,} rows would lose texts{DRY_RUN}"


def summary(tables: list[Found]) -> str:
    """A table: how many rows are erased, how many stay, and until when."""
    rows = [
        {
            "table": of.table,
            "erased": f"{len(of.erased):,}",
            "kept": f"{of.kept:,}",
            "until": f"{of.until:%Y-%m-%d}" if of.until else "",
        }
        for of in tables
    ]
    return text_table(["table", "erased", "kept", "until"], rows)


def carry_out(
    person: UUID, actor: str, kept: Mapping[str, int], approval: UUID | None, total: int
) -> int:
    """The number of the erasure.

    Raises:
        CommandError: it is not approved, or the person may not be erased.
    """
    try:
        with (
            counting() as begin,
            lock_waits.name_locked_row(),
            carrying([approval] if approval else []),
        ):
            return erase(person, actor, kept, begin("Tables", total)).number
    except NotApproved as error:
        raise CommandError(
            f"{error} Nothing was erased; use --request to request approval."
        ) from None
    except NotErasable as error:
        raise CommandError(f"{error} Nothing was erased.") from None
    except lock_waits.LockTimeout as error:
        raise CommandError(
            f"{error} Nothing was erased; run the command again."
        ) from None

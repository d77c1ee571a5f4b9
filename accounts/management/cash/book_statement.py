from argparse import ArgumentTypeError
from pathlib import Path

from django.core.management.base import CommandError

from accounts.approvals.four_eyes import COMMAND, NotApproved, carrying, is_needed
from accounts.approvals.models import ApprovalKind
from accounts.cash.bank_csv import cents
from accounts.cash.bank_statements import (
    NoClosingBalance,
    OtherBalance,
    book_statement,
    moves,
    statement_title,
)
from accounts.management.people import (
    active_staff,
    add_second_person,
    add_staff,
    file_for_approval,
)
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing
from partnerapi.core.money import euros


def euro_cents(text):
    amount = cents(text)
    if amount is None:
        raise ArgumentTypeError(f"{text:.40} is not a whole number of euro cents")
    return amount


class Command(DryRunCommand):
    help = """Book the lines of a bank statement, a camt.053 or a CSV.

An incoming payment is credited to the client whose deposit reference its text names.
An outgoing payment pays the approved withdrawal whose payment reference it names. All
other lines are booked to suspense and reported; staff assign them in the admin. Each
reference is booked once, so running the same file again books nothing. If any line is
wrong, every wrong line is reported and none is booked. The same holds if the bank's
closing balance differs from the books after the last line.

Credits to clients need a second person: --request files the request, and approving it
in the admin books the file.

A camt.053 (001.02 or 001.08) states its own balances: it opens with the books' balance,
and its entries lead to its closing balance. For a CSV, --closing-balance states it.

examples:
  manage.py cash book-statement 2027-01-31.xml --staff ana@example.com --dry-run
  manage.py cash book-statement 2027-01-31.csv --staff ana@example.com \\
      --closing-balance 1250000 --dry-run
  manage.py cash book-statement 2027-01-31.csv --staff ana@example.com \\
      --closing-balance 1250000 --request --reason "Statement of 31 January"
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help=(
                "camt.053, or UTF-8 CSV with the columns reference (the bank's own), "
                "text, amount (euro cents, negative for outgoing payments), date "
                "(2027-01-31)"
            ),
        )
        add_staff(parser)
        parser.add_argument(
            "--closing-balance",
            metavar="CENTS",
            type=euro_cents,
            help="the bank's balance after the last line; a CSV needs it",
        )
        add_second_person(parser)
        parser.add_argument(
            "--reason",
            metavar="TEXT",
            help=("reason, for --request; visible to the approver"),
        )

    def handle(
        self, *, file, staff, closing_balance, request, approval, reason, dry_run,
        **options,
    ):  # fmt: skip
        person = active_staff("--staff", staff)
        if request and not (reason and reason.strip()):
            raise CommandError("Give a --reason; the approver sees it.")
        try:
            with (
                counting() as begin,
                importing(file, self.stderr),
                carrying([approval] if approval else []),
            ):
                booked = book_statement(
                    file.read_bytes(),
                    file.name,
                    person.email,
                    begin,
                    closing_balance=closing_balance,
                    dry_run=dry_run or request,
                )
        except OtherBalance as error:
            raise CommandError(f"{error} Nothing was booked.") from None
        except NoClosingBalance as error:
            raise CommandError(f"{error} Use --closing-balance.") from None
        except NotApproved as error:
            raise CommandError(
                f"{error} Nothing was booked; use --request to request approval."
            ) from None
        if booked.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(booked.ignored_columns)}")
        for line in booked.unknown:
            self.stderr.write(f"Unallocated: {line}")
        for account, was, became in moves(booked) if dry_run or request else ():
            self.stderr.write(f"{account}: {euros(was)} before, {euros(became)} after")
        if request and not dry_run:
            title = statement_title(booked)
            return file_for_approval(
                ApprovalKind.STATEMENT, booked.content, title, reason.strip(), person
            )
        needs = booked.deposits and is_needed(
            ApprovalKind.STATEMENT, COMMAND, booked.deposited
        )
        if dry_run and needs:
            self.stderr.write("Booking it needs a second person: use --request.")
        return (
            f"Bank statement: {booked.deposits:,} deposits of "
            f"{euros(booked.deposited)}, {booked.withdrawals:,} withdrawals of "
            f"{euros(booked.withdrawn)}, {len(booked.unknown):,} lines unallocated, "
            f"{booked.known:,} booked before; closing balance {euros(booked.balance)}"
            + (DRY_RUN if dry_run else "")
        )

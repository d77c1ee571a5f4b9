from argparse import ArgumentTypeError
from pathlib import Path

from django.core.management.base import CommandError

from accounts.bank_statements import book_statement, cents
from accounts.management.people import active_staff, add_staff
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


def euro_cents(text):
    amount = cents(text)
    if amount is None:
        raise ArgumentTypeError(f"{text:.40} is not a whole number of euro cents")
    return amount


class Command(DryRunCommand):
    help = """Book the lines of a bank statement, a CSV.

Money that came is its client's whose deposit reference the line's text names; money
that went pays the approved withdrawal whose payment reference it names. All else goes
to SUSPENSE, and is told: staff assign it in the admin. A line's reference is booked
once, so the same file again books nothing. All or nothing: when a line is wrong, every
wrong line is reported and none is booked. With --closing-balance, exit code 1 where
the bank has another balance than what must lie there; the lines are booked all the
same, because the bank did what they say.

examples:
  manage.py book_bank_statement 2027-01-31.csv --staff ana@example.com --dry-run
  manage.py book_bank_statement 2027-01-31.csv --staff ana@example.com \\
      --closing-balance 1250000
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help="UTF-8 CSV with the columns reference (the bank's own), text, amount "
            "(euro cents, negative for money that went), date (2027-01-31)",
        )
        add_staff(parser)
        parser.add_argument(
            "--closing-balance",
            metavar="CENTS",
            type=euro_cents,
            help="what lies at the bank after the last line, as the bank says",
        )

    def handle(self, *, file, staff, closing_balance, dry_run, **options):
        person = active_staff("--staff", staff)
        with counting() as begin, importing(file, self.stderr):
            booked = book_statement(
                file.read_bytes(),
                file.name,
                person.email,
                begin,
                closing_balance=closing_balance,
                dry_run=dry_run,
            )
        if booked.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(booked.ignored_columns)}")
        for line in booked.unknown:
            self.stderr.write(f"To SUSPENSE: {line}")
        said = (
            f"Bank statement: {booked.deposits:,} deposits of {booked.deposited:,} "
            f"cents, {booked.withdrawals:,} withdrawals of {booked.withdrawn:,} cents, "
            f"{len(booked.unknown):,} lines to SUSPENSE, {booked.known:,} booked "
            f"before; {booked.balance:,} cents must lie at the bank"
            + (DRY_RUN if dry_run else "")
        )
        if closing_balance is not None and closing_balance != booked.balance:
            self.stdout.write(said)
            difference = closing_balance - booked.balance
            raise CommandError(
                f"The bank says {closing_balance:,} cents, but by the books "
                f"{booked.balance:,} cents must lie there: {abs(difference):,} cents "
                f"{'more' if difference > 0 else 'less'}. Look for a line that is "
                "missing, here or there."
            )
        return said

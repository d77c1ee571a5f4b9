from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone
from rich.console import Console

from accounts.approvals.four_eyes import NotApproved, carrying
from accounts.approvals.models import ApprovalKind
from accounts.management.people import (
    active_staff,
    add_second_person,
    file_for_approval,
)
from issuers.ocf.approvals import register_content, register_title
from issuers.ocf.reading import read_package
from issuers.ocf.summary import summary
from issuers.ocf.writing import import_package
from issuers.register.errors import LedgerError
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import the register of an issuer from an Open Cap Table (OCF) package.

The import creates the manifest's issuer, the stakeholders who ever held shares, a
private token per stock class, and the ledger entries of the stock transactions, each at
its time or at midnight UTC of its date. Cancelled, repurchased and retracted shares are
destroyed; a split multiplies the outstanding shares. Objects that a register cannot
hold are counted and listed. Importing the same package again changes nothing. If any
object is wrong, the command reports each with its file and the rule, and writes
nothing.

A second person approves the register: file a request, then pass its id. The package
must be identical to the requested one, byte for byte.

examples:
  manage.py import ocf acme_holdings/ --dry-run
  manage.py import ocf acme_holdings.zip --request --staff bo@example.com
  manage.py import ocf acme_holdings.zip --approval 0197c2a4-1f00-7000-8000-000000000000
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "package",
            type=Path,
            help="a folder, or a zip of one, with *.ocf.json files and a manifest",
        )
        parser.add_argument(
            "--staff",
            metavar="EMAIL",
            help="with --request: the member of staff who requests it",
        )
        add_second_person(parser)

    def handle(self, *, package, staff, dry_run, request, approval, **options):
        if request and not staff:
            raise CommandError("--request needs --staff.")
        try:
            with (
                counting() as begin,
                importing(package, self.stderr),
                carrying([approval] if approval else []),
            ):
                read = read_package(package)
                imported = import_package(
                    read, timezone.now(), begin, dry_run=dry_run or request
                )
        except NotApproved as error:
            raise CommandError(
                f"{error} Nothing was changed; use --request to request approval."
            ) from None
        except LedgerError as error:
            raise CommandError(
                f"The register rejected the import: {error} Nothing was changed; "
                "correct the package and run the command again."
            ) from None
        if imported.was_imported:
            return (
                f"{package.name} was already imported as {imported.issuer.slug}: 0 "
                "changes."
            )
        console = Console(file=self.stdout, width=100)
        for table in summary(imported):
            console.print(table)
        if request:
            return file_for_approval(
                ApprovalKind.REGISTER,
                register_content(imported),
                register_title(imported, package.name),
                "Import of the company's register",
                active_staff("--staff", staff),
            )
        return (
            f"Issuer {imported.issuer.slug}: {imported.entries} entries and "
            f"{imported.prices} prices in the ledgers of {len(imported.tokens)} tokens"
            + (DRY_RUN if dry_run else "")
        )

from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone
from rich.console import Console

from issuers.imports.ocf.reading import read_package
from issuers.imports.ocf.summary import summary
from issuers.imports.ocf.writing import import_package
from issuers.register.errors import LedgerError
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import the register of an issuer from an Open Cap Table (OCF) package.

That is the manifest's issuer, the stakeholders who ever held shares, a private token
per stock class, and the ledger as the stock transactions made it, each at midnight UTC
of its date or at its time. Cancelled, repurchased and retracted shares are destroyed; a
split multiplies what is outstanding. What has no place in a register is counted and
named. The same package again changes nothing. All or nothing: when objects are wrong,
the command reports each with its file and the rule, and writes nothing.

examples:
  manage.py import_ocf acme_holdings/ --dry-run
  manage.py import_ocf acme_holdings.zip
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "package",
            type=Path,
            help="a folder, or a zip of one, with *.ocf.json files and a manifest",
        )

    def handle(self, *, package, dry_run, **options):
        try:
            with counting() as begin, importing(package, self.stderr):
                read = read_package(package)
                imported = import_package(read, timezone.now(), begin, dry_run=dry_run)
        except LedgerError as error:
            raise CommandError(
                f"The register refuses: {error} Nothing was changed; correct the "
                "package and run this again."
            ) from None
        if imported.was_imported:
            return (
                f"{package.name} was imported before, as {imported.issuer.slug}: "
                "0 changes."
            )
        console = Console(file=self.stdout, width=100)
        for table in summary(imported):
            console.print(table)
        return (
            f"Issuer {imported.issuer.slug}: {imported.entries} entries and "
            f"{imported.prices} prices in the ledgers of {len(imported.tokens)} tokens"
            + (DRY_RUN if dry_run else "")
        )

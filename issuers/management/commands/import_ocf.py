from pathlib import Path

from django.core.management.base import CommandError
from django.db import IntegrityError
from django.utils import timezone
from rich.console import Console
from rich.progress import Progress

from issuers.imports.ocf.reading import WrongPackageError, read_package
from issuers.imports.ocf.summary import summary
from issuers.imports.ocf.writing import Imported, import_package
from issuers.register.errors import LedgerError
from partnerapi.core import lock_waits
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Import the register of an issuer from an Open Cap Table (OCF) package.

That is the manifest's issuer, the stakeholders who ever held shares, a private token
per stock class, and the ledger as the stock transactions made it, each at midnight UTC
of its date or at its time. Cancelled, repurchased and retracted shares are destroyed; a
split multiplies what is outstanding. What has no place in a register is counted and
named. The same package again changes nothing. All or nothing: when objects are wrong,
each is reported with its file and the rule, and nothing is written.

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
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="check everything and say what would be written, write nothing",
        )

    def handle(self, *, package, dry_run, **options):
        try:
            with lock_waits.named():
                imported = self.imported(package, dry_run)
        except OSError as error:
            raise CommandError(
                f"{package} can not be read: {error.strerror or error}."
            ) from None
        except WrongPackageError as error:
            for problem in error.problems:
                self.stderr.write(str(problem))
            count = len(error.problems)
            raise CommandError(
                f"{package.name} has {count} {'problem' if count == 1 else 'problems'},"
                " listed above. Nothing was changed; correct the package and run this "
                "again."
            ) from None
        except LedgerError as error:
            raise CommandError(
                f"The register refuses: {error} Nothing was changed; correct the "
                "package and run this again."
            ) from None
        except IntegrityError as error:
            raise CommandError(
                f"Somebody else wrote at the same time: {str(error).splitlines()[0]}. "
                "Nothing was changed; run this again."
            ) from None
        except lock_waits.LockTimeout as error:
            raise CommandError(
                f"{error} Nothing was changed; run this again."
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
            + (" (dry run: nothing was written)" if dry_run else "")
        )

    def imported(self, package: Path, dry_run: bool) -> Imported:
        console = Console(stderr=True)
        with Progress(console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task("Reading", total=None)
            read = read_package(package)
            progress.update(task, description="Writing")

            def follow(done: int, total: int) -> None:
                progress.update(task, total=total, advance=done)

            return import_package(read, timezone.now(), dry_run=dry_run, follow=follow)

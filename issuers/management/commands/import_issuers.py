from pathlib import Path

from rich.console import Console
from rich.progress import track

from issuers.imports.issuers import import_companies
from issuers.management.import_file import importing
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Import issuers, their owners and tokens from a CSV of listed companies.

A company is known by its ISIN: the same file again changes nothing, a corrected one
brings the stored rows up to date. A symbol that is taken gets .2, .3 in file order.
All or nothing: when a row is wrong, every wrong row is reported and none is written.

examples:
  manage.py import_issuers listed_companies.csv --dry-run
  manage.py import_issuers listed_companies.csv
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help="UTF-8 CSV with the columns name, isin, symbol, country (ISO 3166 "
            "alpha-2, where the company sits), city, and if you like website, sector, "
            "industry (classified where it is an ICB subsector's name)",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="say what would change, change nothing",
        )

    def handle(self, *, file, dry_run, **options):
        console = Console(stderr=True)

        def follow(batches):
            return track(
                batches, "Importing", console=console, disable=not console.is_terminal
            )

        with importing(file, self.stderr):
            changes = import_companies(
                file.read_bytes(), dry_run=dry_run, follow=follow
            )
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        for taken in changes.taken_symbols:
            self.stdout.write(str(taken))
        return (
            f"Issuers: {changes.created} created, {changes.updated} updated, "
            f"{changes.unchanged} unchanged; "
            f"{len(changes.taken_symbols)} symbols were taken"
            + (" (dry run: nothing was written)" if dry_run else "")
        )

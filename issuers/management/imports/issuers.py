from pathlib import Path

from issuers.imports.issuers import import_issuers
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import issuers, their owners and tokens from a CSV of listed companies.

The ISIN says which company it is. The same file again changes nothing; a corrected one
updates the stored rows. A symbol that is taken gets .2, .3 in file order. All or
nothing: when a row is wrong, the command reports every wrong row and writes none.

examples:
  manage.py import issuers listed_companies.csv --dry-run
  manage.py import issuers listed_companies.csv
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help="UTF-8 CSV with the columns name, isin, symbol, country (ISO 3166 "
            "alpha-2, where the company sits), city, and if you like website, sector, "
            "industry (classified where it is an ICB subsector's name), "
            "formation_date (such as 1998-04-30)",
        )

    def handle(self, *, file, dry_run, **options):
        with counting() as begin, importing(file, self.stderr):
            changes = import_issuers(file.read_bytes(), begin, dry_run=dry_run)
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        for taken in changes.taken_symbols:
            self.stdout.write(str(taken))
        return (
            f"Issuers: {changes.created} created, {changes.updated} updated, "
            f"{changes.unchanged} unchanged; "
            f"{len(changes.taken_symbols)} symbols were taken"
            + (DRY_RUN if dry_run else "")
        )

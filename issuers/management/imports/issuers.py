from pathlib import Path

from issuers.imports.issuers import import_issuers
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import issuers, their owners and tokens from a CSV of listed companies.

Companies are matched by ISIN. Running the same file again changes nothing; a corrected
file updates the stored rows. If a symbol is taken, .2, .3 and so on are added in file
order. If any row is wrong, the command reports every wrong row and writes none.

examples:
  manage.py import issuers listed_companies.csv --dry-run
  manage.py import issuers listed_companies.csv
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help=(
                "UTF-8 CSV with the columns name, isin, symbol, country (ISO 3166 "
                "alpha-2, of the company's seat), city, and optionally website, "
                "sector, industry (classified if it is the name of an ICB subsector), "
                "formation_date (such as 1998-04-30)"
            ),
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
            f"{changes.unchanged} unchanged; {len(changes.taken_symbols)} symbols were "
            "already taken" + (DRY_RUN if dry_run else "")
        )

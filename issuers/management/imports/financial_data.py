from pathlib import Path

from issuers.imports.publications import import_financial_data
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import financial data of issuers from a CSV.

Rows are matched by issuer, year and period. Running the same file again changes
nothing, a corrected file updates the figures, and a blank figure keeps the stored one.
If any row is wrong, every wrong row is reported and none is written.

examples:
  manage.py import financial-data figures.csv --dry-run
  manage.py import financial-data figures.csv
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help=(
                "UTF-8 CSV with the columns issuer (slug), year, period_type (YEAR or "
                "FIRST_SEMESTER), and optionally revenue_cents, ebitda_cents, "
                "ebit_cents, net_income_cents"
            ),
        )

    def handle(self, *, file, dry_run, **options):
        with counting() as begin, importing(file, self.stderr):
            changes = import_financial_data(file.read_bytes(), begin, dry_run=dry_run)
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        return (
            f"Financial data: {changes.created:,} created, {changes.updated:,} "
            f"updated, {changes.unchanged:,} unchanged" + (DRY_RUN if dry_run else "")
        )

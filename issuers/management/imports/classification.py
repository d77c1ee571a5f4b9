from pathlib import Path

from issuers.imports.classification import FIELDS, PACKAGED_FILE, import_classification
from partnerapi.core.commands import DRY_RUN, DryRunCommand, importing


class Command(DryRunCommand):
    help = """Import the 173 subsectors of the Industry Classification Benchmark.

The default is the project's own file; any file with the same columns works. Running it
again is safe: rows are matched by subsector code. A wrong file changes nothing.

examples:
  manage.py import industry-classification
  manage.py import industry-classification icb.csv --dry-run
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            nargs="?",
            type=Path,
            default=PACKAGED_FILE,
            help=(
                f"UTF-8 CSV with the columns {', '.join(FIELDS)}; by default, the "
                "project's own file"
            ),
        )

    def handle(self, *, file, dry_run, **options):
        with importing(file, self.stderr):
            changes = import_classification(file.read_bytes(), dry_run=dry_run)
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        if changes.not_in_file:
            self.stderr.write(
                f"{changes.not_in_file} stored subsectors are not in the file, and "
                "stay."
            )
        return (
            f"Subsectors: {changes.created} created, {changes.updated} updated, "
            f"{changes.unchanged} unchanged" + (DRY_RUN if dry_run else "")
        )

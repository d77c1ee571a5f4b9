from pathlib import Path

from issuers.imports.classification import FIELDS, PACKAGED_FILE, import_classification
from partnerapi.core.commands import DRY_RUN, DryRunCommand, importing


class Command(DryRunCommand):
    help = """Import the 173 subsectors of the Industry Classification Benchmark.

The file is the project's own or another with the same columns. It is safe to run again:
the subsector code says which entry a row is of. A wrong file changes nothing.

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
            help=f"UTF-8 CSV with the columns {', '.join(FIELDS)}; "
            "left out: the project's own",
        )

    def handle(self, *, file, dry_run, **options):
        with importing(file, self.stderr):
            changes = import_classification(file.read_bytes(), dry_run=dry_run)
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        if changes.not_in_file:
            self.stderr.write(
                f"{changes.not_in_file} stored subsectors, not in the file, stay."
            )
        return (
            f"Subsectors: {changes.created} created, {changes.updated} updated, "
            f"{changes.unchanged} unchanged" + (DRY_RUN if dry_run else "")
        )

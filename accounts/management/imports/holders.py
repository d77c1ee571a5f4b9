from pathlib import Path

from accounts.management.people import active_staff, add_staff
from accounts.people.imports import import_holders
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import holders: a user and a profile for each line of a CSV.

A holder is identified by e-mail address, wallet or LEI. For a known holder, missing
data is added and stored data stays. Running the same file again changes nothing. If any
line is wrong, every wrong line is reported and none is written.

examples:
  manage.py import holders holders.csv --staff ana@example.com --dry-run
  manage.py import holders holders.csv --staff ana@example.com
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help=(
                "UTF-8 CSV with the columns name, kind (INDIVIDUAL or COMPANY), one "
                "or more of email, wallet and lei, and optionally country (ISO 3166 "
                "alpha-2)"
            ),
        )
        add_staff(parser)

    def handle(self, *, file, staff, dry_run, **options):
        actor = active_staff("--staff", staff).email
        with counting() as begin, importing(file, self.stderr):
            changes = import_holders(
                file.name, file.read_bytes(), actor, begin, dry_run=dry_run
            )
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        if changes.was_imported:
            return f"{file.name} has already been imported; nothing was written."
        if changes.other_names:
            self.stderr.write(
                f"{changes.other_names:,} known holders have another name in the "
                "register, which stays."
            )
        return (
            f"Holders: {changes.created:,} created, {changes.completed:,} completed, "
            f"{changes.unchanged:,} unchanged" + (DRY_RUN if dry_run else "")
        )

from pathlib import Path

from django.core.management.base import CommandError

from accounts.management.people import active_staff, add_staff
from issuers.legacy.import_csv import import_legacy_shareholders
from issuers.models import Issuer
from partnerapi.core.commands import DRY_RUN, DryRunCommand, importing


class Command(DryRunCommand):
    help = """Import an issuer's capitalization table from before the platform.

The reference says which line it is. The same file again changes nothing; a corrected
one updates PENDING lines and keeps what they said. A DELIVERED line that differs is a
problem; a line that a file leaves out stays. All or nothing: when a line is wrong, the
command reports every wrong line and writes none.

examples:
  manage.py import_legacy_shareholders acme.csv --issuer acme \\
      --staff ana@example.com --dry-run
  manage.py import_legacy_shareholders acme.csv --issuer acme --staff ana@example.com
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help="UTF-8 CSV with the columns reference, holder_email or holder_lei or "
            "both, token_symbol, number_of_shares, price_cents, and if you like "
            "created_at (RFC 3339)",
        )
        parser.add_argument("--issuer", metavar="SLUG", required=True)
        add_staff(parser)

    def handle(self, *, file, issuer, staff, dry_run, **options):
        actor = active_staff("--staff", staff).email
        try:
            into = Issuer.objects.get(slug=issuer)
        except Issuer.DoesNotExist:
            raise CommandError(f"There is no issuer {issuer}; give its slug.") from None
        with importing(file, self.stderr):
            changes = import_legacy_shareholders(
                into, file.name, file.read_bytes(), actor, dry_run=dry_run
            )
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        if changes.was_imported:
            return f"{file.name} was imported before; nothing was written."
        return (
            f"Legacy shareholders of {issuer}: {changes.created} created, "
            f"{changes.updated} updated, {changes.unchanged} unchanged"
            + (DRY_RUN if dry_run else "")
        )

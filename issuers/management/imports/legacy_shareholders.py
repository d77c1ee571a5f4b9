from pathlib import Path

from django.core.management.base import CommandError

from accounts.management.people import active_staff, add_staff
from issuers.legacy.imports import import_legacy_shareholders
from issuers.models import Issuer
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import an issuer's capitalization table from before the platform.

Lines are matched by reference. Running the same file again changes nothing; a corrected
file updates PENDING lines and keeps their former values. A DELIVERED line that differs
is an error; a line missing from the file stays. If any line is wrong, every wrong line
is reported and none is written.

With --create-holders, unknown holders are created as users with a profile, from the
columns holder_name, holder_kind (INDIVIDUAL or COMPANY) and, optionally,
holder_country. For a known holder, missing data is added and stored data stays.

examples:
  manage.py import legacy-shareholders acme.csv --issuer acme \\
      --staff ana@example.com --dry-run
  manage.py import legacy-shareholders acme.csv --issuer acme --staff ana@example.com
  manage.py import legacy-shareholders acme.csv --issuer acme --create-holders \\
      --staff ana@example.com
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "file",
            type=Path,
            help=(
                "UTF-8 CSV with the columns reference, one or more of holder_email, "
                "holder_wallet and holder_lei, token_symbol, number_of_shares, "
                "price_cents, and optionally created_at (RFC 3339)"
            ),
        )
        parser.add_argument("--issuer", metavar="SLUG", required=True)
        parser.add_argument(
            "--create-holders",
            action="store_true",
            help="create users for holders that do not exist yet",
        )
        add_staff(parser)

    def handle(self, *, file, issuer, create_holders, staff, dry_run, **options):
        actor = active_staff("--staff", staff).email
        try:
            into = Issuer.objects.get(slug=issuer)
        except Issuer.DoesNotExist:
            raise CommandError(
                f"There is no issuer {issuer}; give an issuer's slug."
            ) from None
        with counting() as begin, importing(file, self.stderr):
            changes = import_legacy_shareholders(
                into,
                file.name,
                file.read_bytes(),
                actor,
                begin,
                create_holders=create_holders,
                dry_run=dry_run,
            )
        if changes.ignored_columns:
            self.stderr.write(f"Columns ignored: {', '.join(changes.ignored_columns)}")
        if changes.was_imported:
            return f"{file.name} has already been imported; nothing was written."
        holders = changes.holders
        return (
            f"Legacy shareholders of {issuer}: {changes.created:,} created, "
            f"{changes.updated:,} updated, {changes.unchanged:,} unchanged"
            + (
                f"; holders: {holders.created:,} created, "
                f"{holders.completed:,} completed"
                if holders
                else ""
            )
            + (DRY_RUN if dry_run else "")
        )

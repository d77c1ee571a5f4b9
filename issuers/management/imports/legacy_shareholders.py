from pathlib import Path

from django.core.management.base import CommandError

from accounts.management.people import active_staff, add_staff
from issuers.legacy.imports import import_legacy_shareholders
from issuers.models import Issuer
from partnerapi.core.commands import DRY_RUN, DryRunCommand, counting, importing


class Command(DryRunCommand):
    help = """Import an issuer's capitalization table from before the platform.

A line is known by its reference: the same file again changes nothing, a corrected one
brings PENDING lines up to date and keeps what they said. A DELIVERED line that differs
is a problem; a line that a file leaves out stays. All or nothing: when lines are wrong,
they are reported and none is written.

With --create-holders, a holder who is no one yet becomes a user with a profile, by the
columns holder_name, holder_kind (INDIVIDUAL or COMPANY) and, if you like,
holder_country; who is known gets what is missing of them and stays as stored otherwise.

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
            help="UTF-8 CSV with the columns reference, one or more of holder_email, "
            "holder_wallet and holder_lei, token_symbol, number_of_shares, "
            "price_cents, and if you like created_at (RFC 3339)",
        )
        parser.add_argument("--issuer", metavar="SLUG", required=True)
        parser.add_argument(
            "--create-holders",
            action="store_true",
            help="make the users whom the file names and no one is yet",
        )
        add_staff(parser)

    def handle(self, *, file, issuer, create_holders, staff, dry_run, **options):
        actor = active_staff("--staff", staff).email
        try:
            into = Issuer.objects.get(slug=issuer)
        except Issuer.DoesNotExist:
            raise CommandError(f"There is no issuer {issuer}; give its slug.") from None
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

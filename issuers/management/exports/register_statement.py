import secrets
from base64 import b64encode
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from issuers.register.statements import private_key, write_statement
from partnerapi.core.commands import CommandWithExamples


class Command(CommandWithExamples):
    help = """Write a signed statement of the state of the register.

A statement is evidence outside the database: `verify register --against FILE` later
shows whether any covered data was rewritten, even by the owner of the tables. Keep
PARTNER_API_STATEMENTS on a different machine from the database.

examples:
  manage.py export register-statement
  manage.py export register-statement --directory /mnt/evidence
  manage.py export register-statement --new-key
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--directory",
            type=Path,
            help="output directory, instead of PARTNER_API_STATEMENTS",
        )
        parser.add_argument(
            "--new-key",
            action="store_true",
            help="print a new PARTNER_API_STATEMENT_KEY, and write nothing",
        )

    def handle(self, *, directory, new_key, **options):
        if new_key:
            made = b64encode(secrets.token_bytes(32)).decode()
            return f"PARTNER_API_STATEMENT_KEY={made}"
        if not settings.PARTNER_API_STATEMENT_KEY:
            raise CommandError(
                "PARTNER_API_STATEMENT_KEY is not set; --new-key prints one."
            )
        if directory is None:
            if not settings.PARTNER_API_STATEMENTS:
                raise CommandError(
                    "PARTNER_API_STATEMENTS is not set; set it to a directory on a "
                    "different machine from the database, or pass --directory."
                )
            directory = Path(settings.PARTNER_API_STATEMENTS)
        key = private_key(settings.PARTNER_API_STATEMENT_KEY)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            path = write_statement(directory, key, timezone.now())
        except OSError as error:
            raise CommandError(
                f"{directory} cannot be written: {error.strerror}."
            ) from None
        return f"Wrote {path}. Keep a copy where the database's owner cannot write."

import secrets
from base64 import b64encode
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError
from django.utils import timezone

from issuers.management.register_command import reason_text
from issuers.management.restricting import later
from issuers.register.publication import (
    AnotherPublished,
    DatabaseSetBack,
    HoldingsDisagree,
    introduce_key,
)
from issuers.register.statement_models import RecordInstant
from issuers.register.statements import (
    WrongStatementError,
    private_key,
    public_key,
    public_text,
    write_statement,
)
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.times import to_rfc3339


class Command(CommandWithExamples):
    help = """Publish a signed statement of the register's state, and write its file.

A statement is evidence outside the database: `verify register --against FILE` later
shows whether any covered data was rewritten, even by the owner of the tables. Keep
PARTNER_API_STATEMENTS on a different machine from the database. Anyone reads the public
statement at /statements.

With --at, the statement is taken by itself as soon as the instant is over, for example
a record date. It needs the background worker.

Before the key changes, the present key signs the next one with --introduce.

examples:
  manage.py export register-statement
  manage.py export register-statement --directory /mnt/evidence
  manage.py export register-statement --at 2026-12-31T23:00:00Z --reason "Dividend"
  manage.py export register-statement --new-key
  manage.py export register-statement --introduce "$NEXT_PUBLIC_KEY"
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
        parser.add_argument(
            "--introduce",
            metavar="PUBLIC_KEY",
            help="sign the public key that will follow, and write no statement",
        )

        parser.add_argument(
            "--at",
            metavar="TIME",
            type=later,
            help="take a statement once this instant is over, RFC 3339",
        )
        parser.add_argument(
            "--reason",
            metavar="TEXT",
            type=reason_text,
            help="why that instant is stated; needed with --at",
        )

    def handle(self, *, directory, new_key, introduce, at, reason, **options):
        if at is not None:
            return state_later(at, reason)
        if new_key:
            made = secrets.token_bytes(32)
            key = Ed25519PrivateKey.from_private_bytes(made).public_key()
            self.stderr.write(f"Public key: {public_text(key)}")
            return f"PARTNER_API_STATEMENT_KEY={b64encode(made).decode()}"
        if not settings.PARTNER_API_STATEMENT_KEY:
            raise CommandError(
                "PARTNER_API_STATEMENT_KEY is not set; --new-key prints one."
            )
        key = private_key(settings.PARTNER_API_STATEMENT_KEY)
        if introduce:
            return introduce_next(introduce, key)
        if directory is None:
            if not settings.PARTNER_API_STATEMENTS:
                raise CommandError(
                    "PARTNER_API_STATEMENTS is not set; set it to a directory on a "
                    "different machine from the database, or pass --directory."
                )
            directory = Path(settings.PARTNER_API_STATEMENTS)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            path = write_statement(directory, key, timezone.now())
        except OSError as error:
            raise CommandError(
                f"{directory} cannot be written: {error.strerror}."
            ) from None
        except (
            AnotherPublished,
            DatabaseSetBack,
            HoldingsDisagree,
            WrongStatementError,
        ) as error:
            raise CommandError(str(error)) from None
        return f"Wrote {path}. Keep a copy where the database's owner cannot write."


def state_later(at: datetime, reason: str | None) -> str:
    if not reason:
        raise CommandError("Give a --reason for the instant.")
    try:
        RecordInstant.objects.create(at=at, reason=reason)
    except IntegrityError:
        raise CommandError(f"{to_rfc3339(at)} will be stated already.") from None
    return f"The register will be stated when {to_rfc3339(at)} is over."


def introduce_next(text: str, by: Ed25519PrivateKey) -> str:
    try:
        following = public_key(text)
    except ValueError:
        raise CommandError("--introduce is not the base64 of 32 bytes.") from None
    try:
        introduced = introduce_key(following, by, timezone.now())
    except IntegrityError:
        raise CommandError("This key was introduced before.") from None
    return f"Introduced key {introduced}. Set it as PARTNER_API_STATEMENT_KEY now."

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from issuers.register import statements
from issuers.register.erasure_records import not_compared
from issuers.register.verification import verify
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.invariants import Finding, tell


class Command(CommandWithExamples):
    help = """Check the integrity of the register, one line per rule.

This reads the whole register and its database guards. The only change it makes is to
record how far entries have been checked against the rules of their time. The exit code
is 1 if a rule is broken, which means that the guards were bypassed.

With --against, it also compares the register with a signed statement: the data that the
statement covers must be unchanged.

examples:
  manage.py verify register
  manage.py verify register --against register-20270131T020000Z.statement
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "--against", type=Path, metavar="FILE", help="a statement of the register"
        )
        parser.add_argument(
            "--public-key",
            metavar="KEY",
            help=(
                "the signer's public key, in base64; by default, from "
                "PARTNER_API_STATEMENT_KEY"
            ),
        )

    def handle(self, *, against, public_key, **options):
        statement = None if against is None else load_statement(against, public_key)
        return tell(self, findings(statement, against))


def load_statement(file: Path, public_key: str | None) -> dict[str, Any]:
    """The content of a statement's file.

    Raises:
        CommandError: it cannot be read, or is not signed with the key.
    """
    try:
        if public_key:
            key = statements.public_key(public_key)
        elif settings.PARTNER_API_STATEMENT_KEY:
            private = statements.private_key(settings.PARTNER_API_STATEMENT_KEY)
            key = private.public_key()
        else:
            raise CommandError(
                "The signer's key is unknown. Set PARTNER_API_STATEMENT_KEY, or pass "
                "--public-key."
            )
    except ValueError:
        raise CommandError("--public-key is not the base64 of 32 bytes.") from None
    try:
        return statements.read_statement(file, key)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
    except statements.WrongStatementError as error:
        raise CommandError(str(error)) from None


def findings(statement: dict[str, Any] | None, file: Path) -> Iterator[Finding]:
    yield from verify()
    if statement is not None:
        wrong = list(statements.differences(statement, timezone.now()))
        # The names of holders and the policies count as one more each.
        covered = len(statement["tokens"]) + len(statement["tables"]) + 2
        rule = f"the register agrees with {file.name}"
        yield Finding(rule, covered, len(wrong), wrong)
        for note in not_compared(statement):
            yield Finding(note, 0, 0)

from pathlib import Path

from django.utils import timezone

from accounts.approvals.verification import verify
from issuers.management.verify_register import load_statement
from issuers.register.stated_rows import table_differences
from issuers.register.statements import one_state
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.invariants import Finding, tell

TABLES = {"accounts_approvalrequest", "accounts_approvaldecision", "accounts_assertion"}


class Command(CommandWithExamples):
    help = """Check every decision of staff and what signs it, one line per rule.

This reads all requests, decisions and passkeys, checks each signature again, and
changes nothing. The exit code is 1 if a rule is broken, which means that a decision was
forged.

With --against, the passkeys must also be those of a signed statement of the register,
and the decisions that it covers must be unchanged. What a compromised server shows
before a person signs is not proved.

examples:
  manage.py verify approvals
  manage.py verify approvals --against register-20270131T020000Z.statement
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
        with one_state():
            findings = [*verify(statement)]
            if statement is not None:
                stated = [t for t in statement["tables"] if t["table"] in TABLES]
                wrong = [*table_differences(stated, timezone.now())]
                rule = "the decisions that the statement covers are unchanged"
                findings.append(Finding(rule, len(stated), len(wrong), wrong))
        return tell(self, findings)

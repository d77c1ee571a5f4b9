from hashlib import sha256
from pathlib import Path

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.history.models import RowChange
from accounts.management.people import user_named
from issuers.exports.statements import TooManyLines, holder_statement
from issuers.management.exporting import add_instant, replace_file
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.times import to_rfc3339


class Command(CommandWithExamples):
    help = """Write a holder's statement at an instant as a PDF.

It lists the units of each token with their value, the entries behind them (at most
10,000), and the heads of the ledgers' chains. The same instant gives the same file. QR
codes name the signed statements that prove the units. The proof of each token is a file
beside the PDF: /docs/proof explains how to check it.

examples:
  manage.py export holder-statement ana@example.com --output ana.pdf
  manage.py export holder-statement ana@example.com --at 2026-01-31 --output ana.pdf
"""

    def add_arguments(self, parser):
        parser.add_argument(
            "holder", help="the holder's email or wallet address, LEI or id"
        )
        add_instant(parser)
        parser.add_argument(
            "--output", metavar="FILE", type=Path, required=True, help="path of the PDF"
        )

    def handle(self, *, holder, at, output, **options):
        user = user_named(holder)
        with replace_file(output) as path:
            try:
                content, proofs = holder_statement(user, at)
            except TooManyLines as error:
                raise CommandError(str(error)) from None
            RowChange.objects.note_export(
                user,
                what="Statement of a holder",
                at=to_rfc3339(at or timezone.now()),
                format="pdf",
                file=output.name,
                sha256=sha256(content).hexdigest(),
            )
            path.write_bytes(content)
        beside = [output.with_suffix(f".{symbol}.proof.json") for symbol in proofs]
        for file, proof in zip(beside, proofs.values(), strict=True):
            with replace_file(file) as path:
                path.write_text(proof, newline="")
        named = "".join(f", {file}" for file in beside)
        return f"Statement of {user}; written to {output}{named}."

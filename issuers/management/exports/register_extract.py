from hashlib import sha256
from pathlib import Path

from django.core.management.base import CommandError

from accounts.history.models import RowChange
from issuers.exports.captable import dated_table
from issuers.exports.statements import TooManyLines, register_extract
from issuers.management.exporting import add_instant, issuer_named, replace_file
from partnerapi.core.commands import CommandWithExamples
from partnerapi.core.times import to_rfc3339


class Command(CommandWithExamples):
    help = """Write an issuer's register at an instant as a PDF.

It lists the tokens, each with its last entry and the head of its chain, and the holders
(at most 10,000 lines). The same instant gives the same file.

examples:
  manage.py export register-extract acme --output acme.pdf
  manage.py export register-extract acme --at 2026-01-31 --output acme.pdf
"""

    def add_arguments(self, parser):
        parser.add_argument("issuer", metavar="SLUG", help="the issuer's slug")
        add_instant(parser)
        parser.add_argument(
            "--output", metavar="FILE", type=Path, required=True, help="path of the PDF"
        )

    def handle(self, *, issuer, at, output, **options):
        with replace_file(output) as path:
            table = dated_table(issuer_named(issuer), at)
            try:
                content = register_extract(table)
            except TooManyLines as error:
                raise CommandError(str(error)) from None
            RowChange.objects.note_export(
                table.issuer,
                what="Extract of the register",
                at=to_rfc3339(table.date),
                format="pdf",
                file=output.name,
                lines=table.holding_count,
                sha256=sha256(content).hexdigest(),
            )
            path.write_bytes(content)
        return (
            f"{issuer} at {to_rfc3339(table.date)}: {table.holding_count:,} lines; "
            f"written to {output}."
        )

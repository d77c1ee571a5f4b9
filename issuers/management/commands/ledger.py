import json
from enum import StrEnum
from pathlib import Path

from issuers.exports import ledger, tables
from issuers.management.exporting import (
    add_output,
    followed,
    named_file,
    opened,
    written,
)
from issuers.management.register_command import token_named
from partnerapi.core.commands import CommandWithExamples, counting


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    XLSX = "xlsx"
    JSON_LINES = "jsonl"


class Command(CommandWithExamples):
    help = """Write all entries of a token's ledger, in their order.

As JSON lines, each is an object of two: `line`, the entry's canonical text, and
`digest`, the SHA-256 in hexadecimal digits of the digest before it (32 zero bytes at
first) followed by the line in UTF-8. So anybody can compute the chain again.

examples:
  manage.py ledger ACME
  manage.py ledger ACME --format csv --output acme-ledger.csv
  manage.py ledger ACME --format xlsx --output acme-ledger.xlsx
  manage.py ledger ACME --format jsonl --output acme-ledger.jsonl
"""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="the token's symbol")
        parser.add_argument(
            "--format", choices=[*Format], default=Format.TABLE.value, help="as what"
        )
        add_output(parser, "xlsx")

    def handle(self, *, symbol, format, output: Path | None, **options):
        if format == Format.XLSX:
            named_file(output, format)
        token = token_named(symbol)
        with counting() as begin, ledger.entries(token) as entries:
            advance = begin("Writing", token.ledger_head.last_seq)
            rows = followed(entries, advance)
            if format == Format.XLSX:
                with written(named_file(output, format)) as path:
                    count = tables.write_workbook(
                        ledger.COLUMNS, rows, path, token.created_at
                    )
            else:
                with opened(output, self.stdout) as file:
                    count = WRITERS[format](token, rows, file)
        to = f"; written to {output}" if output else ""
        self.stderr.write(f"{symbol}: {count:,} entries{to}.")


def write_chain(token, rows, file):
    count = 0
    for line, digest in ledger.chained(token, rows):
        said = {"line": line, "digest": digest.hex()}
        file.write(json.dumps(said, ensure_ascii=False) + "\n")
        count += 1
    return count


WRITERS = {
    Format.TABLE: lambda _, rows, file: tables.write_text(ledger.COLUMNS, rows, file),
    Format.CSV: lambda _, rows, file: tables.write_csv(ledger.COLUMNS, rows, file),
    Format.JSON_LINES: write_chain,
}

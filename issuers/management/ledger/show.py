import json
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from pathlib import Path

from django.db import transaction

from accounts.history.models import RowChange
from issuers.exports import ledger, tables
from issuers.management.exporting import (
    add_output,
    file_name,
    named_file,
    report_progress,
    write_rows,
)
from issuers.management.register_command import token_named
from issuers.register.chains import Chain, chain_lines
from partnerapi.core.commands import CommandWithExamples, counting


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    XLSX = "xlsx"
    JSON_LINES = "jsonl"


class Command(CommandWithExamples):
    help = """Write all entries of a token's ledger, or its prices, in order.

In JSON Lines, each is an object with `line`, the canonical text, and `digest`, the
SHA-256 (hexadecimal) of the previous digest (initially 32 zero bytes) followed by the
line in UTF-8. Anyone can therefore recompute the chain. A line of version 2 names the
SHA-256 of `salt` (hexadecimal) followed by `private` as its `privateDigest`.

examples:
  manage.py ledger show ACME
  manage.py ledger show ACME --format csv --output acme-ledger.csv
  manage.py ledger show ACME --format xlsx --output acme-ledger.xlsx
  manage.py ledger show ACME --format jsonl --output acme-ledger.jsonl
  manage.py ledger show ACME --prices --format jsonl --output acme-prices.jsonl
"""

    def add_arguments(self, parser):
        parser.add_argument("symbol", type=str.upper, help="the token's symbol")
        parser.add_argument(
            "--format",
            choices=[*Format],
            default=Format.TABLE.value,
            help=("output format"),
        )
        add_output(parser, "xlsx")
        parser.add_argument(
            "--prices", action="store_true", help=("write the prices instead")
        )

    def handle(self, *, symbol, format, output: Path | None, prices, **options):
        if format == Format.XLSX:
            named_file(output, format)
        token = token_named(symbol)
        kind = PRICES if prices else ENTRIES
        last = kind.last(token.ledger_head)
        RowChange.objects.note_export(
            token,
            what=f"Ledger, {kind.name}",
            format=format,
            file=file_name(output),
            lines=last,
        )
        with counting() as begin, read(token, kind, format) as lines:
            rows = report_progress(lines, begin("Writing", last))
            count = write_rows(
                kind.columns, rows, WRITERS.get(format), output, self.stdout,
                token.created_at,
            )  # fmt: skip
        to = f"; written to {output}" if output else ""
        self.stderr.write(f"{symbol}: {count:,} {kind.name}{to}.")


@dataclass(frozen=True)
class Kind:
    """The part of a ledger that is written."""

    name: str
    chain: Chain
    columns: Sequence[tables.Column]
    read: Callable
    last: Callable
    """The number of the last, from a token's head."""


ENTRIES = Kind(
    "entries", Chain.ENTRIES, ledger.COLUMNS, ledger.entries, attrgetter("last_seq")
)
PRICES = Kind(
    "prices",
    Chain.PRICES,
    ledger.PRICE_COLUMNS,
    ledger.prices,
    attrgetter("last_price"),
)


@contextmanager
def read(token, kind, format):
    if format == Format.JSON_LINES:
        with transaction.atomic():
            yield chain_lines(kind.chain, token.pk)
    else:
        with kind.read(token) as rows:
            yield rows


def write_chain(columns, rows, file):
    count = 0
    for row in rows:
        said = {"line": row.line, "digest": row.digest.hex()}
        if row.salt is not None:
            said |= {"private": row.private, "salt": row.salt.hex()}
        file.write(json.dumps(said, ensure_ascii=False) + "\n")
        count += 1
    return count


WRITERS = {
    Format.TABLE: tables.write_text,
    Format.CSV: tables.write_csv,
    Format.JSON_LINES: write_chain,
}

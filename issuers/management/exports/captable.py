from enum import StrEnum
from pathlib import Path

from django.core.management.base import CommandError

from accounts.history.models import RowChange
from issuers.exports import captable, tables
from issuers.management.exporting import (
    add_instant,
    add_output,
    file_name,
    issuer_named,
    named_file,
    replace_file,
    report_progress,
    write_rows,
)
from issuers.ocf import export as ocf
from partnerapi.core.commands import CommandWithExamples, counting
from partnerapi.core.errors import RequestTimeout
from partnerapi.core.times import to_rfc3339


class Format(StrEnum):
    TABLE = "table"
    CSV = "csv"
    XLSX = "xlsx"
    JSON_LINES = "jsonl"
    OCF = "ocf"


WRITERS = {
    Format.TABLE: tables.write_text,
    Format.CSV: tables.write_csv,
    Format.JSON_LINES: tables.write_json_lines,
}


class Command(CommandWithExamples):
    help = """Write an issuer's capitalization table at an instant, of any length.

The table has one line for each holder and token, sorted by the holder's value. The same
instant always gives the same table. An Open Cap Table (OCF) package has one issuance
for each line, and `import ocf` restores the same table from it; OCF requires the
issuer's formation date and country.

examples:
  manage.py export captable acme
  manage.py export captable acme --at 2026-01-31 --format csv --output acme.csv
  manage.py export captable acme --at 2026-01-31T12:00:00Z --format xlsx \\
      --output acme.xlsx
  manage.py export captable acme --format ocf --output acme.zip
"""

    def add_arguments(self, parser):
        parser.add_argument("issuer", metavar="SLUG", help="the issuer's slug")
        add_instant(parser)
        parser.add_argument(
            "--format",
            choices=[*Format],
            default=Format.TABLE.value,
            help=("output format"),
        )
        add_output(parser, "xlsx and ocf")

    def handle(self, *, issuer, at, format, output: Path | None, **options):
        if format in (Format.XLSX, Format.OCF):
            named_file(output, format)
        try:
            table = captable.dated_table(issuer_named(issuer), at)
        except RequestTimeout as error:
            raise CommandError(f"{error} Nothing was written.") from None
        RowChange.objects.note_export(
            table.issuer,
            what="Capitalization table",
            at=to_rfc3339(table.date),
            format=format,
            file=file_name(output),
            lines=table.holding_count,
        )
        with counting() as begin:
            advance = begin("Writing", table.holding_count)
            if format == Format.OCF:
                with replace_file(named_file(output, format)) as path:
                    count = write_ocf(table, path, advance)
            else:
                count = write(table, format, output, self.stdout, advance)
        self.stderr.write(summary(table, count, output))


def write_ocf(table, path, advance):
    try:
        return ocf.write_package(table, path, advance)
    except ocf.NotOcf as error:
        raise CommandError(f"{error} Nothing was written.") from None


def write(table, format, output, stdout, advance):
    with captable.holdings(table) as held:
        rows = captable.lines(table, report_progress(held, advance))
        writer = WRITERS.get(format)
        return write_rows(captable.COLUMNS, rows, writer, output, stdout, table.at)


def summary(table, count, output):
    totals = ", ".join(
        f"{symbol} {token.held:,} of {token.supply:,} units"
        for symbol, token in zip(table.symbols, table.tokens, strict=True)
    )
    return (
        f"{table.issuer.slug} at {to_rfc3339(table.date)}: {count:,} lines, "
        f"{table.total_value:,} cents; held: {totals or 'no tokens'}"
        + (f"; written to {output}." if output else ".")
    )

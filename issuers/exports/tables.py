"""Tables in several formats: text, CSV, Excel workbook or JSON lines.

Rows are read once and written at once: memory does not grow with their number.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""How a text begins that a spreadsheet takes for a formula."""
EXACT = 10**15
"""Spreadsheets count with 15 digits; a larger number is written as text."""
ROWS_OF_A_SHEET = 1_000_000
CELL_LENGTH = 32_767
"""The longest text of a workbook's cell."""
WIDEST = 40


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    width: int
    """Of the column in text, in characters."""
    is_number: bool = False


Row = Sequence[Any]


def write_text(columns: Sequence[Column], rows: Iterable[Row], file: IO[str]) -> int:
    """Columns side by side; a value that is wider than its column is not cut."""

    def line(values: Iterable[Any]) -> str:
        cells = (
            f"{text_of(value):>{c.width}}"
            if c.is_number
            else f"{text_of(value):<{c.width}}"
            for c, value in zip(columns, values, strict=True)
        )
        return "  ".join(cells).rstrip() + "\n"

    file.write(line(column.name for column in columns))
    file.write(line("-" * column.width for column in columns))
    count = 0
    for row in rows:
        file.write(line(row))
        count += 1
    return count


def write_csv(columns: Sequence[Column], rows: Iterable[Row], file: IO[str]) -> int:
    """Separate by commas; put an apostrophe before a text that would be a formula."""
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([column.name for column in columns])
    count = 0
    for row in rows:
        writer.writerow([harmless(value) for value in row])
        count += 1
    return count


def write_json_lines(
    columns: Sequence[Column], rows: Iterable[Row], file: IO[str]
) -> int:
    """An object a line. A number above 2⁵³ is a string."""
    names = [column.name for column in columns]
    count = 0
    for row in rows:
        values = map(json_value, row)
        line = dict(zip(names, values, strict=True))
        file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        count += 1
    return count


def write_workbook(
    columns: Sequence[Column], rows: Iterable[Row], path: Path, made_at: datetime
) -> int:
    """Sheets of a million rows below their header. The same rows make the same file."""
    # Few processes write workbooks; all others need not load it.
    import xlsxwriter

    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    count = 0
    with xlsxwriter.Workbook(str(path), options) as workbook:
        workbook.set_properties({"created": made_at.replace(tzinfo=None)})
        bold = workbook.add_format({"bold": True})
        sheet = None
        for row in rows:
            place = count % ROWS_OF_A_SHEET
            if place == 0:
                sheet = workbook.add_worksheet()
                begin_sheet(sheet, columns, bold)
            for number, value in enumerate(row):
                write_cell(sheet, place + 1, number, value)
            count += 1
        if sheet is None:
            begin_sheet(workbook.add_worksheet(), columns, bold)
    return count


def begin_sheet(sheet: Any, columns: Sequence[Column], bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    for number, column in enumerate(columns):
        sheet.set_column(number, number, min(column.width + 2, WIDEST))
        sheet.write_string(0, number, column.name, bold)


def write_cell(sheet: Any, row: int, column: int, value: Any) -> None:
    if value is None or value == "":
        return
    if isinstance(value, float) or isinstance(value, int) and abs(value) < EXACT:
        sheet.write_number(row, column, value)
    else:
        sheet.write_string(row, column, text_of(value)[:CELL_LENGTH])


def text_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return str(value)


def harmless(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    text = text_of(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def json_value(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 2**53 else str(value)
    if value is None or isinstance(value, str | float | bool | list | Mapping):
        return value
    return text_of(value)

"""CSV files with named columns."""

import csv
import io
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from partnerapi.core.problems import Problem, WrongFileError


@dataclass(slots=True)
class CsvRow:
    """A record by column; `line` is where it starts."""

    line: int
    values: dict[str, str]


@dataclass(slots=True)
class CsvTable:
    rows: list[CsvRow]
    problems: list[Problem]
    ignored_columns: list[str]


def read_table(
    content: bytes, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> CsvTable:
    """Read UTF-8 (with or without a byte order mark), comma-separated, header first.

    Blank lines are left out. White space around a value goes; within it, it becomes a
    single space. Records that can not be read stand in the table's problems.

    Raises:
        WrongFileError: not UTF-8, no header, a required column missing or named twice.
    """
    records = read_records(decode(content))
    header_line, names, broken = next(records, (1, [], "the file is empty"))
    if broken:
        raise WrongFileError([Problem(header_line, "", broken)])
    header = [name.strip().lower() for name in names]
    known = (*required, *optional)
    problems = [
        Problem(
            header_line,
            name,
            f"this column is missing; the header has {', '.join(header)!r}, "
            f"it needs {','.join(required)} (any order, separated by commas)",
        )
        for name in required
        if name not in header
    ]
    problems += [
        Problem(header_line, name, "this column stands in the header twice")
        for name in known
        if header.count(name) > 1
    ]
    if problems:
        raise WrongFileError(problems)

    table = CsvTable([], [], [name for name in header if name and name not in known])
    for line, fields, broken in records:
        if not broken and len(fields) != len(header):
            broken = f"{len(fields)} fields, the header has {len(header)}"
        if broken:
            table.problems.append(Problem(line, "", broken))
            continue
        values = dict(zip(header, (" ".join(f.split()) for f in fields), strict=True))
        table.problems += control_characters(line, values)
        table.rows.append(CsvRow(line, values))
    if not table.rows and not table.problems:
        raise WrongFileError([Problem(header_line, "", "no rows below the header")])
    return table


def decode(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        rule = f"byte 0x{content[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise WrongFileError([Problem(line, "", rule)]) from None


def read_records(text: str) -> Iterator[tuple[int, list[str], str]]:
    """Each record with the line it starts on and, when it can not be read, why.

    Such a record is the last: where the next one starts is unknown.
    """
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, [], f"unreadable from here on: {error}"
            return
        if any(field.strip() for field in fields):
            yield line, fields, ""


def control_characters(line: int, values: dict[str, str]) -> list[Problem]:
    return [
        Problem(line, name, f"holds the control character U+{ord(character):04X}")
        for name, value in values.items()
        if not value.isprintable()
        for character in value
        if unicodedata.category(character) == "Cc"
    ]

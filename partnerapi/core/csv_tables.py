"""CSV files with named columns."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from partnerapi.core.problems import Problem, Problems, WrongFileError

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
BEGINNINGS = {
    b"PK\x03\x04": "is an Excel workbook (.xlsx) or another zip archive; save the "
    "sheet as CSV (UTF-8)",
    b"\xd0\xcf\x11\xe0": "is an Excel workbook (.xls); save the sheet as CSV (UTF-8)",
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"%PDF": "is a PDF; provide the table as CSV (UTF-8)",
    b"\xff\xfe": "is UTF-16; save the file as UTF-8",
    b"\xfe\xff": "is UTF-16; save the file as UTF-8",
}
"""How files begin that are something else, and what to do then."""
# Printable by their category, and yet nothing is seen of them.
BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")


@dataclass(slots=True)
class CsvRow:
    """A record by column; `line` is where it starts."""

    line: int
    values: dict[str, str]


@dataclass(slots=True)
class CsvTable:
    rows: list[CsvRow]
    problems: Problems
    ignored_columns: list[str]


@dataclass(slots=True)
class CsvStream:
    """A table that is read row by row, once.

    While `rows` are read, what is wrong comes to `problems`; a record that cannot be
    read is no row.
    """

    content: bytes
    columns: tuple[str, ...]
    header: list[str]
    separator: str
    problems: Problems
    ignored_columns: list[str] = field(default_factory=list)

    @property
    def line_count(self) -> int:
        """About how many rows there are: the lines below the header."""
        return max(self.content.count(b"\n"), 1)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """The line on which each row starts, and its values in the order of `columns`.

        White space around a value goes; within it, it becomes a single space. The value
        of a column that the header lacks is empty.

        Raises:
            WrongFileError: there is no row below the header.
        """
        places = [
            self.header.index(name) if name in self.header else None
            for name in self.columns
        ]
        records = read_records(self.content, self.separator)
        header_line, _, _ = next(records)
        width, is_empty = len(self.header), True
        for line, fields, broken in records:
            is_empty = False
            if not broken and len(fields) != width:
                broken = f"{len(fields)} fields, the header has {width}"
            if broken:
                self.problems.append(Problem(line, "", broken))
                continue
            for place, value in enumerate(fields):
                if not value.isprintable() or BLANK.search(value):
                    self.problems += invisible_characters(
                        line, self.header[place], value
                    )
                    # Told above; the database could not even be asked about it.
                    fields[place] = value.replace("\0", "")
            values = ["" if at is None else fields[at] for at in places]
            yield line, [" ".join(value.split()) for value in values]
        if is_empty:
            raise WrongFileError([Problem(header_line, "", "no rows below the header")])


def stream_table(
    content: bytes, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> CsvStream:
    """Read UTF-8, with or without a byte order mark, the header first.

    Blank lines are left out. Commas, semicolons or tabs separate, as in the header.

    Raises:
        WrongFileError: not UTF-8, no header, a required column missing or named twice.
    """
    check_encoding(content)
    known = (*required, *optional)
    line, separator, header = read_header(content, known)
    problems = Problems()
    for name in header:
        problems += invisible_characters(line, repr(name)[1:-1], name)
    problems.extend(
        Problem(
            line,
            name,
            f"this column is missing; the header has {', '.join(header)!r}, "
            f"it needs {','.join(required)} (any order, separated by commas, "
            "semicolons or tabs)",
        )
        for name in required
        if name not in header
    )
    problems.extend(
        Problem(line, name, "this column is in the header twice")
        for name in known
        if header.count(name) > 1
    )
    if problems:
        raise WrongFileError(problems)
    ignored = [name for name in header if name and name not in known]
    return CsvStream(content, known, header, separator, problems, ignored)


def read_table(
    content: bytes, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> CsvTable:
    """All of a table that fits into memory, as `stream_table` reads it.

    Raises:
        WrongFileError: not UTF-8, no header, a required column missing or named twice.
    """
    stream = stream_table(content, required, optional)
    present = [name for name in stream.columns if name in stream.header]
    kept = [stream.columns.index(name) for name in present]
    rows = [
        CsvRow(line, {name: values[at] for name, at in zip(present, kept, strict=True)})
        for line, values in stream.rows()
    ]
    return CsvTable(rows, stream.problems, stream.ignored_columns)


def check_encoding(content: bytes) -> None:
    for beginning, rule in BEGINNINGS.items():
        if content.startswith(beginning):
            raise WrongFileError([Problem(1, "", rule)])
    if b"\0" in content[:4] and len(content) > 1:
        rule = "is UTF-16 or UTF-32 without a byte order mark; save the file as UTF-8"
        raise WrongFileError([Problem(1, "", rule)])
    for number, line in enumerate(io.BytesIO(content), 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            rule = (
                f"byte 0x{line[error.start]:02x} is not UTF-8; save the file as UTF-8"
            )
            raise WrongFileError([Problem(number, "", rule)]) from None


def read_header(content: bytes, known: Sequence[str]) -> tuple[int, str, list[str]]:
    """The header's line, what separates its names, and these in lower case.

    Raises:
        WrongFileError: the file is empty, or its first line cannot be read.
    """
    found = []
    for separator in SEPARATORS:
        records = read_records(content, separator)
        line, names, broken = next(records, (1, [], "the file is empty"))
        header = [name.strip().lower() for name in names]
        # Commas come first, and so they are it where nothing is known.
        found.append((len(set(known) & set(header)), line, separator, header, broken))
    _, line, separator, header, broken = max(found, key=lambda one: one[0])
    if broken:
        raise WrongFileError([Problem(line, "", broken)])
    return line, separator, header


def read_records(
    content: bytes, separator: str
) -> Iterator[tuple[int, list[str], str]]:
    """Each record with the line it starts on and, when it cannot be read, why.

    Such a record is the last: where the next one starts is unknown.
    """
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="")
    reader = csv.reader(text, delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, [], f"unreadable from here on: {error}"
            return
        if any(map(str.strip, fields)):
            yield line, fields, ""


def invisible_characters(line: int, name: str, value: str) -> Iterator[Problem]:
    """Characters that no one sees, or that turn what stands beside them around."""
    for place, character in enumerate(value):
        category = unicodedata.category(character)
        if category == "Cc":
            if not character.isspace():
                rule = f"contains the control character U+{ord(character):04X}"
                yield Problem(line, name, rule)
        elif category in ("Cf", "Zl", "Zp") or BLANK.match(character) or (
            category == "Zs" and character != " " and is_at_an_end(value, place)
        ):  # fmt: skip
            rule = (
                f"contains the invisible character U+{ord(character):04X} "
                f"({unicodedata.name(character, 'no name')}) as its character "
                f"{place + 1}; remove it"
            )
            yield Problem(line, name, rule)


def is_at_an_end(value: str, place: int) -> bool:
    return not value[:place].strip() or not value[place:].strip()

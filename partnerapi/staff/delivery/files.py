"""CSV files of lines, safe for spreadsheets, written as their rows come."""

from collections.abc import Iterable, Sequence
from io import TextIOWrapper
from tempfile import TemporaryFile

from django.http import FileResponse

from issuers.exports.tables import Column, Row, write_csv


def as_file(name: str, columns: Sequence[str], rows: Iterable[Row]) -> FileResponse:
    file = TemporaryFile()  # noqa: SIM115 (the answer closes it)
    text = TextIOWrapper(file, "utf-8", newline="")
    write_csv([Column(column, 0) for column in columns], rows, text)
    text.detach()
    file.seek(0)
    return FileResponse(file, as_attachment=True, filename=name)

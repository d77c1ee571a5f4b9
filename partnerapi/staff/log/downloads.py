"""What staff take out is in the log: CSV files, safe for spreadsheets, and prints."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from io import TextIOWrapper
from tempfile import TemporaryFile
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponse

from accounts.history.models import Of, RowChange
from issuers.exports.tables import Column, Row, write_csv
from partnerapi.core.database import confirm
from partnerapi.staff.log.authorship import written_by_user

LONGEST_ADDRESS = 500


@dataclass(frozen=True, slots=True)
class CsvFile:
    content: IO[bytes]
    lines: int
    sha256: str


def csv_file(columns: Sequence[str], rows: Iterable[Row]) -> CsvFile:
    """Rows are written as they come; memory does not grow with them."""
    content = TemporaryFile()  # noqa: SIM115 (the answer closes it)
    text = TextIOWrapper(content, "utf-8", newline="")
    lines = write_csv([Column(column, 0) for column in columns], rows, text)
    text.detach()
    content.seek(0)
    digest = file_digest(content, "sha256").hexdigest()
    content.seek(0)
    return CsvFile(content, lines, digest)


def download(
    request: HttpRequest, of: Of, what: str, file: CsvFile, name: str, **said: str
) -> FileResponse:
    """The file, once the log has who takes it, `what` it is, and `of` which row."""
    with written_by_user(request):
        RowChange.objects.note_export(
            of, what=what, **said, file=name, lines=file.lines, sha256=file.sha256
        )
        confirm()
    return FileResponse(file.content, as_attachment=True, filename=name)


def note_print(request: HttpRequest, of: Of, what: str) -> HttpResponse:
    """The answer to the request that a page's script sends when it is printed."""
    page = request.get_full_path()[:LONGEST_ADDRESS]
    RowChange.objects.note_export(of, what=what, format="print", page=page)
    return HttpResponse(status=204)

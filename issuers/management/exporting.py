"""Code shared by the commands that export the register."""

import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from issuers.exports import tables
from issuers.models import Issuer
from partnerapi.core.errors import RequestTimeout
from partnerapi.core.progress import Advance
from partnerapi.core.times import from_rfc3339


def instant(text: str) -> datetime:
    try:
        return from_rfc3339(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def add_instant(parser: CommandParser) -> None:
    parser.add_argument(
        "--at",
        metavar="INSTANT",
        type=instant,
        help=(
            "RFC 3339, such as 2026-01-31T12:00:00Z, or a date, for midnight UTC; now "
            "by default"
        ),
    )


def add_output(parser: CommandParser, needs_file: str) -> None:
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help=f"output file, instead of standard output; required for {needs_file}",
    )


def named_file(output: Path | None, format: str) -> Path:
    """
    Raises:
        CommandError: no file is named, and this format is not text.
    """
    if output is None:
        raise CommandError(f"The format {format} needs a file: use --output FILE.")
    return output


def file_name(output: Path | None) -> str:
    """The log's name for the destination of an export."""
    return output.name if output else "standard output"


def issuer_named(slug: str) -> Issuer:
    try:
        return Issuer.objects.select_related("owner").get(slug=slug)
    except Issuer.DoesNotExist:
        raise CommandError(
            f"There is no issuer {slug}; give an issuer's slug."
        ) from None


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """A temporary file beside `path`, which replaces it when it is complete.

    Raises:
        CommandError: it cannot be written, or the register stayed locked.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror or error}."
        ) from None
    except RequestTimeout as error:
        raise CommandError(f"{error} Nothing was written.") from None
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def open_output(path: Path | None, stdout: OutputWrapper) -> Iterator[IO[str]]:
    """Standard output, or a file that appears when it is complete.

    A reader of standard output may stop early, as `head` does: then the command exits
    with 0.
    """
    if path is None:
        try:
            yield Unstyled(stdout)  # type: ignore[misc]
            stdout.flush()
        except BrokenPipeError:
            # Python flushes again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stdout.fileno())
            raise SystemExit(0) from None
        return
    with (
        replace_file(path) as beside,
        beside.open("w", encoding="utf-8", newline="") as file,
    ):
        yield file


def write_rows(
    columns: Sequence[tables.Column],
    rows: Iterable[Any],
    write: Callable[..., int] | None,
    output: Path | None,
    stdout: OutputWrapper,
    made_at: datetime,
) -> int:
    """Write rows with `write`, or else as a workbook; return their number.

    Raises:
        CommandError: a workbook without a file, or a file that cannot be written.
    """
    if write is None:
        with replace_file(named_file(output, "xlsx")) as path:
            return tables.write_workbook(columns, rows, path, made_at)
    with open_output(output, stdout) as file:
        return write(columns, rows, file)


class Unstyled:
    """Output without the line ends and colours that Django adds."""

    def __init__(self, output: OutputWrapper) -> None:
        self.output = output

    def write(self, text: str) -> None:
        self.output.write(text, ending="")


def report_progress(
    rows: Iterable[Any], advance: Advance, step: int = 1_000
) -> Iterator[Any]:
    for count, row in enumerate(rows, 1):
        if count % step == 0:
            advance(step)
        yield row

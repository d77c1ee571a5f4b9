"""The lines of a text file that may be compressed."""

import gzip
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

GZIP = b"\x1f\x8b"


class BrokenFile(Exception):
    """Compressed data ends early or is damaged. The lines before are good."""


def lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a plain or gzip file from its beginning, each with its ending.

    Bytes that are not UTF-8 become U+FFFD. A byte order mark is omitted.

    Raises:
        BrokenFile
    """
    file.seek(0)
    compressed = file.read(len(GZIP)) == GZIP
    file.seek(0)
    source = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if compressed else file
    first = True
    try:
        for line in source:
            yield line.decode("utf-8-sig" if first else "utf-8", "replace")
            first = False
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BrokenFile(
            f"the compressed data cannot be read further: {error}"
        ) from None

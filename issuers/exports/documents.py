"""Documents in PDF: a heading, tables, and numbered pages.

The same content makes the same bytes: they do not contain the present time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

import pymupdf_fonts
import segno
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

MOST_LINES = 10_000
"""Of a table that may have any number."""
PLAIN, BOLD = "NotoSans", "NotoSansBold"
SIZE, LEADING = 8, 4 * mm
MARGIN = 15 * mm
CODE = 25 * mm
WIDTH, HEIGHT = A4


@dataclass(frozen=True, slots=True)
class TableColumn:
    name: str
    share: float
    """Of the page's width."""
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class DocumentTable:
    title: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]


def document(
    title: str,
    facts: Sequence[tuple[str, str]],
    tables: Sequence[DocumentTable],
    codes: Sequence[str] = (),
) -> bytes:
    """A PDF of A4 pages, each with the title and its number; QR codes at its end."""
    # The first pass counts the pages.
    pages = Pages(title, 0).fill(facts, tables, codes).number
    return Pages(title, pages).fill(facts, tables, codes).finish()


class Pages:
    def __init__(self, title: str, count: int) -> None:
        load_fonts()
        self.title, self.count, self.number = printable(title), count, 0
        self.content = BytesIO()
        self.canvas = Canvas(self.content, A4, invariant=True)
        self.canvas.setTitle(title)
        self.begin_page()

    def fill(
        self,
        facts: Sequence[tuple[str, str]],
        tables: Iterable[DocumentTable],
        codes: Iterable[str],
    ) -> "Pages":
        self.write([self.title], [(0, WIDTH)], BOLD, 14)
        self.y -= LEADING
        half = [(0, 45 * mm), (45 * mm, WIDTH - 2 * MARGIN - 45 * mm)]
        for name, value in facts:
            self.write([printable(name), printable(value)], half, PLAIN, SIZE)
        for table in tables:
            self.y -= LEADING
            self.table(table)
        for text in codes:
            self.code(text)
        return self

    def finish(self) -> bytes:
        self.end_page()
        self.canvas.save()
        return self.content.getvalue()

    def begin_page(self) -> None:
        self.number += 1
        self.y = HEIGHT - MARGIN

    def end_page(self) -> None:
        self.canvas.setFont(PLAIN, SIZE)
        self.canvas.drawString(MARGIN, MARGIN - LEADING, self.title)
        page = f"Page {self.number} of {self.count}"
        self.canvas.drawRightString(WIDTH - MARGIN, MARGIN - LEADING, page)
        self.canvas.showPage()

    def code(self, text: str) -> None:
        """A QR code (ISO/IEC 18004) of a text, 25 mm wide, with the text beside it."""
        if self.y - CODE < MARGIN:
            self.end_page()
            self.begin_page()
        rows = [*segno.make(text, error="m").matrix]
        step, top = CODE / len(rows), self.y - LEADING
        for row, modules in enumerate(rows):
            for column, is_dark in enumerate(modules):
                if is_dark:
                    place = MARGIN + column * step, top - (row + 1) * step
                    self.canvas.rect(*place, step, step, stroke=0, fill=1)
        beside = [(CODE + 4 * mm, WIDTH - 2 * MARGIN - CODE - 4 * mm)]
        self.write([printable(text)], beside, PLAIN, SIZE)
        self.y = top - CODE - LEADING

    def table(self, table: DocumentTable) -> None:
        whole, left = WIDTH - 2 * MARGIN, 0.0
        places = []
        for column in table.columns:
            places.append((left, column.share * whole - 2 * mm))
            left += column.share * whole
        numbers = [column.is_number for column in table.columns]
        names = [column.name for column in table.columns]
        self.write([printable(table.title)], [(0, whole)], BOLD, SIZE + 2)
        self.write(names, places, BOLD, SIZE, numbers)
        for row in table.rows:
            self.write([*map(printable, row)], places, PLAIN, SIZE, numbers, names)

    def write(
        self,
        values: Sequence[str],
        places: Sequence[tuple[float, float]],
        font: str,
        size: int,
        numbers: Sequence[bool] = (),
        names: Sequence[str] = (),
    ) -> None:
        """Write values side by side, each wrapped into its own lines.

        If they do not fit, a new page begins, with `names` at its top.
        """
        split = [
            simpleSplit(value, font, size, width)
            for value, (_, width) in zip(values, places, strict=True)
        ]
        lines = max(map(len, split), default=1) or 1
        if self.y - lines * LEADING < MARGIN:
            self.end_page()
            self.begin_page()
            if names:
                self.write(names, places, BOLD, size, numbers)
        self.canvas.setFont(font, size)
        for number, parts in enumerate(split):
            left, width = places[number]
            for line, part in enumerate(parts):
                y = self.y - (line + 1) * LEADING
                if numbers and numbers[number]:
                    self.canvas.drawRightString(MARGIN + left + width, y, part)
                else:
                    self.canvas.drawString(MARGIN + left, y, part)
        self.y -= max(lines * LEADING, size * 1.5)


def euros(cents: int) -> str:
    """`1,234.56`, with a minus sign where cents are negative."""
    return f"-{euros(-cents)}" if cents < 0 else f"{cents // 100:,}.{cents % 100:02}"


@cache
def load_fonts() -> None:
    for name, file in ((PLAIN, "notos"), (BOLD, "notosbo")):
        pdfmetrics.registerFont(TTFont(name, BytesIO(pymupdf_fonts.myfont(file))))


def printable(text: str) -> str:
    """The text, with the number of each character that the font does not have."""
    if text.isascii():
        return text
    load_fonts()
    known = pdfmetrics.getFont(PLAIN).face.charToGlyph
    return "".join(c if ord(c) in known else f"[U+{ord(c):04X}]" for c in text)

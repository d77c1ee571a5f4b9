"""What a document says before it is issued: its period, its owner, its content."""

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from issuers.exports.documents import DocumentTable
from marketdata.books.days import midnight
from marketdata.trading.models import DocumentKind

MONTHS = {DocumentKind.STATEMENT: 3, DocumentKind.INVOICE: 1}
"""Of a period; that of a contract note is a day."""


class Period(NamedTuple):
    """Days of MARKET_TIME_ZONE, both included."""

    begins: date
    ends: date

    @property
    def bounds(self) -> dict[str, datetime]:
        """Its first instant, and the first one after it."""
        return {"begins": midnight(self.begins), "ends": midnight(self.next_day)}

    @property
    def next_day(self) -> date:
        return self.ends + timedelta(days=1)

    def __str__(self) -> str:
        if self.begins == self.ends:
            return f"{self.begins}"
        return f"{self.begins} to {self.ends}"


def period_of(kind: str, day: date) -> Period:
    """The period of a kind of document that includes this day."""
    months = MONTHS.get(DocumentKind(kind))
    if months is None:
        return Period(day, day)
    begins = day.replace(day=1, month=day.month - (day.month - 1) % months)
    after = (begins + timedelta(days=31 * months)).replace(day=1)
    return Period(begins, after - timedelta(days=1))


class Owner(NamedTuple):
    """A document is of an account; without one, it is an invoice of the partner."""

    partner_id: UUID
    account_id: UUID | None = None


class Draft(NamedTuple):
    """`content` is for the JSON, the rest for the PDF. Amounts are euro cents."""

    title: str
    content: dict[str, Any]
    facts: Sequence[tuple[str, str]]
    tables: Sequence[DocumentTable]


Due = tuple[Owner, Callable[[], Draft]]
"""An owner without the document of a period, and how it is drafted."""


def fees(net: int, vat: int) -> dict[str, int]:
    return {"net": net, "vat": vat}


def time_cell(at: str) -> str:
    """An RFC 3339 time to the second, for a PDF."""
    return f"{at[:10]} {at[11:19]}"

"""Issues the documents of periods that are over, each once."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Max
from uuid_utils import uuid7

from issuers.exports.documents import document
from issuers.register.publication import canonical
from marketdata.books.days import day_of
from marketdata.documents.contract_notes import due_notes
from marketdata.documents.drafts import Draft, Due, Owner, Period, period_of
from marketdata.documents.invoices import due_invoices
from marketdata.documents.statements import due_statements
from marketdata.trading.models import DocumentKind, IssuedDocument
from partnerapi.core.times import to_rfc3339

LONGEST_COMMIT = timedelta(minutes=10)
"""By then the trades of a period are committed. `trading_issue_document` judges it."""
DUE: Mapping[str, Callable[[Period], Iterator[Due]]] = {
    DocumentKind.CONTRACT_NOTE: due_notes,
    DocumentKind.STATEMENT: due_statements,
    DocumentKind.INVOICE: due_invoices,
}
ISSUE = "SELECT * FROM trading_issue_document(%s, %s)"


class Issued(NamedTuple):
    """How many documents were issued, by kind, and whether more are due."""

    counts: dict[str, int]
    has_more: bool

    def __str__(self) -> str:
        said = ", ".join(
            f"{number:,} {DocumentKind(kind).label.lower()}s"
            for kind, number in self.counts.items()
        )
        return f"{said}{'; more are due' if self.has_more else ''}"


def issue_due(
    now: datetime,
    seconds: float,
    since: date | None = None,
    is_dry_run: bool = False,
) -> Issued:
    """Issue what is due, for as long as `seconds`; a dry run only counts it.

    Periods begin with that of the day `since`. Without it, those of a kind begin with
    that of its last issued document, or with the last period if there is none.
    """
    ends, counts = monotonic() + seconds, dict.fromkeys(DUE, 0)
    for kind, due in DUE.items():
        for period in periods(kind, now, since):
            for owner, draft in due(period):
                if monotonic() > ends:
                    return Issued(counts, has_more=True)
                if not is_dry_run:
                    issue(kind, owner, period, draft(), now)
                counts[kind] += 1
    return Issued(counts, has_more=False)


def periods(kind: str, now: datetime, since: date | None = None) -> Iterator[Period]:
    """The periods of a kind that are over, the oldest first."""
    current = period_of(kind, day_of(now - LONGEST_COMMIT))
    if since is None:
        last = IssuedDocument.objects.filter(kind=kind).order_by("-number")
        begins = last.values_list("begins", flat=True).first()
        since = begins or current.begins - timedelta(days=1)
    period = period_of(kind, since)
    while period.begins < current.begins:
        yield period
        period = period_of(kind, period.next_day)


def issue(
    kind: str, owner: Owner, period: Period, draft: Draft, now: datetime
) -> IssuedDocument:
    """Keep a document with the next number; one issued before stays as it was.

    Raises:
        IntegrityError: the database refuses it: another process has issued one at the
            same time, or the period is not over.
    """
    with transaction.atomic():
        numbers = IssuedDocument.objects.filter(kind=kind).aggregate(last=Max("number"))
        number = (numbers["last"] or 0) + 1
        account = owner.account_id and f"Account|{owner.account_id}"
        content = canonical(
            draft.content
            | {
                "id": f"IssuedDocument|{uuid7()}",
                "kind": kind,
                "number": number,
                "partnerID": f"Partner|{owner.partner_id}",
                "accountID": account,
                "begins": f"{period.begins}",
                "ends": f"{period.ends}",
                "timeZone": settings.MARKET_TIME_ZONE,
                "issuedAt": to_rfc3339(now),
            }
        )
        facts = [
            ("Number", f"{number}"),
            *draft.facts,
            ("Issued at", to_rfc3339(now)),
        ]
        pdf = document(f"{draft.title}, no. {number}", facts, draft.tables)
        [issued] = IssuedDocument.objects.raw(ISSUE, [content.encode(), pdf])
    return issued

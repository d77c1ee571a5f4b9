"""Documents with content that no market produced."""

import json
from datetime import date
from uuid import UUID

import uuid_utils.compat as uuid

from marketdata.documents.drafts import period_of
from marketdata.documents.issuing import ISSUE
from marketdata.trading.models import IssuedDocument


def invented_document(
    number: int, kind: str, day: date, partner_id: UUID, account_id: UUID | None = None
) -> IssuedDocument:
    content = invented_content(number, kind, day, partner_id, account_id)
    [issued] = IssuedDocument.objects.raw(ISSUE, [content, b"%PDF-1.4"])
    return issued


def invented_content(
    number: int, kind: str, day: date, partner_id: UUID, account_id: UUID | None = None
) -> bytes:
    period = period_of(kind, day)
    said = {
        "id": f"IssuedDocument|{uuid.uuid7()}",
        "kind": kind,
        "number": number,
        "partnerID": f"Partner|{partner_id}",
        "accountID": account_id and f"Account|{account_id}",
        "begins": f"{period.begins}",
        "ends": f"{period.ends}",
        "fees": {"net": number, "vat": 0},
    }
    return json.dumps(said).encode()

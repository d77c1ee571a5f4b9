"""The terms of an offering, and its draft, which partners do not see."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from issuers.models.tokens import Token
from issuers.offerings.models import (
    REFLECTION_SECONDS,
    AllotmentRule,
    Offering,
    UnitSource,
)


class OfferingTerms(NamedTuple):
    """Prices are euro cents, tickets and sizes units, rates basis points."""

    price: int | None
    maximum: int
    minimum: int
    opens: datetime
    closes: datetime
    rule: str = AllotmentRule.PRO_RATA
    source: str = UnitSource.TREASURY
    floor: int | None = None
    cap: int | None = None
    smallest: int = 1
    largest: int | None = None
    reflection: int = REFLECTION_SECONDS
    fee: int = 0
    vat: int = 0
    documents: tuple[UUID, ...] = ()

    def content(self) -> dict[str, Any]:
        """As the database states them; whole seconds count."""
        return self._asdict() | {
            "rule": str(self.rule),
            "source": str(self.source),
            "opens": int(self.opens.timestamp()),
            "closes": int(self.closes.timestamp()),
            "documents": [str(document) for document in self.documents],
        }


def terms_of(offering: Offering) -> OfferingTerms:
    return OfferingTerms(
        offering.price,
        offering.maximum_units,
        offering.minimum_units,
        offering.opens_at.astimezone(UTC),
        offering.closes_at.astimezone(UTC),
        offering.rule,
        offering.source,
        offering.price_floor,
        offering.price_cap,
        offering.smallest_ticket,
        offering.largest_ticket,
        offering.reflection_seconds,
        offering.fee_bps,
        offering.vat_bps,
        tuple(offering.documents),
    )


def draft(
    token: Token, terms: OfferingTerms, actor: str, offering: UUID | None = None
) -> Offering:
    """Write a draft, or replace one; `actor` may ask for offerings.

    Raises:
        IntegrityError: the terms contradict each other.
    """
    drafted: Offering
    arguments = [actor, offering or uuid7(), token.pk, json.dumps(terms.content())]
    with transaction.atomic():
        [drafted] = Offering.objects.raw(DRAFT, arguments)
    return drafted


DRAFT = "SELECT * FROM offerings_draft(%s, %s, %s, %s::jsonb)"

"""The terms of an offering, and its draft, which partners do not see."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from issuers.models.tokens import Token
from issuers.offerings.models import (
    REFLECTION_SECONDS,
    AllotmentRule,
    Offering,
    UnitSource,
)
from partnerapi.core.database import constraint_of


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


class TermsRefused(Exception):
    """The terms contradict each other; the message says how."""


def draft(
    token: Token, terms: OfferingTerms, actor: str, offering: UUID | None = None
) -> Offering:
    """Write a draft, or replace one; `actor` may ask for offerings.

    Raises:
        TermsRefused
    """
    if not has_its_prices(terms):
        raise TermsRefused(f"Not drafted: {CONTRADICTIONS[OF_PRICES]}.")
    drafted: Offering
    arguments = [actor, offering or uuid7(), token.pk, json.dumps(terms.content())]
    try:
        with transaction.atomic():
            [drafted] = Offering.objects.raw(DRAFT, arguments)
    except IntegrityError as error:
        broken = constraint_of(error)
        if broken is None:
            raise TermsRefused(str(error).splitlines()[0]) from None
        why = CONTRADICTIONS.get(broken, broken.replace("_", " "))
        raise TermsRefused(f"Not drafted: {why}.") from None
    return drafted


def has_its_prices(terms: OfferingTerms) -> bool:
    """Whether the terms have a price, or the bounds of a book, as their rule needs."""
    limits = [terms.floor, terms.cap]
    if terms.rule == AllotmentRule.BOOK:
        return terms.price is None and None not in limits
    return terms.price is not None and limits == [None, None]


OF_PRICES = "offering_price_is_fixed_or_from_a_book"
CONTRADICTIONS: Mapping[str, str] = {
    OF_PRICES: (
        "one price from the book needs its lowest and its highest limit, and no price; "
        "any other allotment needs a price, and no limits"
    ),
    "offering_minimum_is_within_its_maximum": (
        "the minimum is more than the units offered"
    ),
    "offering_tickets_are_within_its_maximum": (
        "the smallest subscription is more than the largest, or than the units offered"
    ),
    "offering_closes_after_it_opens": "it closes before it opens",
}
"""What terms break, by constraint."""
DRAFT = "SELECT * FROM offerings_draft(%s, %s, %s, %s::jsonb)"

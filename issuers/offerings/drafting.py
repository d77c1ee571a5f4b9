"""The terms of an offering, and its draft, which partners do not see."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import IntegrityError, transaction
from uuid_utils.compat import uuid7

from issuers.models.tokens import MAX_VALUE, Token
from issuers.offerings.models import (
    BPS,
    MOST_REFLECTION_SECONDS,
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
    check_numbers(terms)
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


def check_numbers(terms: OfferingTerms) -> None:
    """
    Raises:
        TermsRefused: a number is out of its bounds; the message names it.
    """
    for name, (said, least, most) in BOUNDS.items():
        number = getattr(terms, name)
        if number is not None and not least <= number <= most:
            raise TermsRefused(
                f"Not drafted: {said} is {number:,}; it is from {least:,} to {most:,}."
            )


BOUNDS: Mapping[str, tuple[str, int, int]] = {
    "price": ("the price of a unit", 1, MAX_VALUE),
    "floor": ("the lowest limit", 1, MAX_VALUE),
    "cap": ("the highest limit", 1, MAX_VALUE),
    "maximum": ("the number of units", 1, MAX_VALUE),
    "minimum": ("the minimum", 1, MAX_VALUE),
    "smallest": ("the smallest subscription", 1, MAX_VALUE),
    "largest": ("the largest subscription", 1, MAX_VALUE),
    "reflection": ("the reflection period in seconds", 0, MOST_REFLECTION_SECONDS),
    "fee": ("the fee", 0, BPS),
    "vat": ("the value added tax", 0, BPS),
}
"""Of terms: what each number is, its least and its most."""
OF_PRICES = (
    "one price from the book needs its lowest and its highest limit, and no price; any "
    "other allotment needs a price, and no limits"
)
CONTRADICTIONS: Mapping[str, str] = {
    "offering_has_its_prices": OF_PRICES,
    "offering_price_is_fixed_or_from_a_book": OF_PRICES,
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

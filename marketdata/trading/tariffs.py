"""Tariffs of markets: their requests, and what two people decide."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import Partner
from issuers.models import Token
from issuers.register.approvals import token_facts, token_links
from marketdata.trading.fees import Terms
from marketdata.trading.models import Market, Tariff
from partnerapi.core.database import value_of
from partnerapi.core.money import euros


class TariffRefused(Exception):
    """The tariff cannot begin, or end; the message says why."""


def without_end(token: Token, partner: Partner | None) -> Tariff | None:
    """The last tariff of a market, or of a partner on it, if it has no end."""
    return Tariff.objects.filter(token=token, partner=partner, ended_at=None).first()


def in_force(at: datetime) -> QuerySet[Tariff]:
    """The tariffs that orders accepted at an instant get; a later one comes first."""
    standing = Q(ended_at=None) | Q(ended_at__gt=at)
    return Tariff.objects.filter(standing, valid_from__lte=at).order_by("-valid_from")


def tariff_content(
    token: Token,
    partner: Partner | None,
    begins: datetime | None,
    terms: Terms | None,
    reason: str,
) -> dict[str, Any]:
    """A tariff that begins at an instant, or once approved; without `terms`, an end.

    Raises:
        TariffRefused: there is no market, or no tariff to end or to follow.
    """
    if not Market.objects.filter(token=token).exists():
        raise TariffRefused(f"{token.symbol} has no internal market.")
    present = without_end(token, partner)
    if terms is None and present is None:
        raise TariffRefused(f"{token.symbol} has no tariff to end here.")
    starts = begins or timezone.now()
    if terms and present and starts < present.valid_from:
        raise TariffRefused(
            f"The tariff that follows begins at {present.valid_from:%Y-%m-%d %H:%M} "
            "UTC. End it first."
        )
    content = {
        "token": str(token.pk),
        "partner": partner and str(partner.pk),
        "from": begins and int(begins.timestamp()),
        "terms": terms and terms._asdict(),
        "replaces": present and present.pk,
    }
    return content | {"reason": reason} if terms else content


def tariff_title(token: Token, partner: Partner | None, terms: Terms | None) -> str:
    of = f"{token.symbol} for {partner}" if partner else token.symbol
    return f"Tariff of {of}: {text_of(terms)}"[:200]


def text_of(terms: Terms | None) -> str:
    """A tariff as staff read it."""
    if terms is None:
        return "none"
    bounds = f", at least {euros(terms.minimum)}" if terms.minimum else ""
    if terms.maximum is not None:
        bounds += f", at most {euros(terms.maximum)}"
    each = " an order" if bounds else ""
    maker, taker, vat = (
        f"{rate / 100:g} %" for rate in (terms.maker, terms.taker, terms.vat)
    )
    return f"maker {maker}, taker {taker}{bounds}{each}; VAT {vat}"


def set_tariff(
    token_id: UUID,
    partner_id: UUID | None,
    begins: datetime | None,
    terms: Terms | None,
    reason: str,
    actor: str,
) -> Tariff | None:
    """Begin a tariff, in a transaction that carries its approval, or end the last one.

    Orders that were accepted before keep theirs. `actor` filed the request, or decided
    it.
    """
    rates = terms or (None,) * len(Terms._fields)
    with transaction.atomic():
        made = Tariff.objects.raw(
            SET_TARIFF, [actor, token_id, partner_id, begins, *rates, reason]
        )
        return next(iter(made), None)


def sweep_fees() -> int:
    """Move the fees of each market to the platform's account; return how many paid.

    That account pays what a market lacks after busts.
    """
    with transaction.atomic():
        swept: int = value_of(SWEEP)
    return swept


SWEEP = "SELECT trading_sweep()"
SET_TARIFF = "SELECT * FROM trading_set_tariff(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


class SetTariff:
    """A tariff that begins or ends; superseded if another has begun or ended since."""

    def preview(self, request: ApprovalRequest) -> Preview:
        token, partner, begins, terms = self.read(request)
        present = without_end(token, partner)
        rows = [
            *token_facts(token),
            ("Partner", "", str(partner or "All partners without their own tariff")),
            ("Tariff", text_of(present.terms if present else None), text_of(terms)),
            ("From", "", f"{begins:%Y-%m-%d %H:%M} UTC" if begins else "its approval"),
        ]
        links = token_links(token) | ({"Partner": partner} if partner else {})
        said = "An order keeps the tariff with which it was accepted."
        return Preview(rows, [said], links)

    def execute(self, request: ApprovalRequest) -> Tariff | None:
        token, partner, begins, terms = self.read(request)
        return set_tariff(
            token.pk, partner.pk if partner else None, begins, terms,
            request.content.get("reason", ""), request.filed_by.email or "",
        )  # fmt: skip

    def read(
        self, request: ApprovalRequest
    ) -> tuple[Token, Partner | None, datetime | None, Terms | None]:
        content: Mapping[str, Any] = request.content
        token = Token.objects.select_related("issuer", "ledger_head").get(
            pk=content["token"]
        )
        of, begins, terms = content["partner"], content["from"], content["terms"]
        partner = Partner.objects.get(pk=of) if of else None
        present = without_end(token, partner)
        if (present and present.pk) != content["replaces"]:
            raise Superseded("The tariff has changed since this was requested.")
        return (
            token,
            partner,
            datetime.fromtimestamp(begins, UTC) if begins else None,
            Terms(**terms) if terms else None,
        )

"""Two offerings in the sandbox: one that is open, and one that settled."""

import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from issuers.exports.documents import document
from issuers.models import Document, Token
from issuers.offerings import deciding, subscriptions
from issuers.offerings.drafting import OfferingTerms, draft
from issuers.offerings.models import REFLECTION_SECONDS, Offering, UnitSource
from issuers.offerings.subscriptions import Terms
from marketdata.replay.own_book import PARTNER
from partnerapi.core.uuids import derived_uuid7
from partnerapi.sandbox.data.approvals import (
    ASKER,
    carry_out_requests,
    colleague,
    file_and_approve,
)
from partnerapi.sandbox.data.chance import OPENING

OPEN_SYMBOL, SETTLED_SYMBOL = "NORDHAVEL", "POLDERWIND"
"""Tokens on the primary market."""
CLOSES = datetime(2036, 12, 31, 17, tzinfo=UTC)
SETTLES_IN = timedelta(seconds=2)
UNITS, INVESTORS = 5_000, 3


def make_offerings() -> bool:
    """Open one offering, and sell another to its end; False: there are some already."""
    if Offering.objects.exists():
        return False
    investors = Account.objects.filter(partner__login=PARTNER, status="ACTIVE")
    shown = [*investors.order_by("created_at", "id")[:INVESTORS]]
    tokens = Token.objects.in_bulk([OPEN_SYMBOL, SETTLED_SYMBOL], field_name="symbol")
    if len(tokens) < 2 or not shown:
        return False
    token = tokens[OPEN_SYMBOL]
    open_one(token, CLOSES, documents=(information_sheet(token).pk,))
    sell(tokens[SETTLED_SYMBOL], shown)
    return True


def information_sheet(token: Token) -> Document:
    """What the issuer publishes with its offering: the same bytes in every sandbox."""
    facts = [
        ("Company", str(token.issuer)),
        ("Token", token.symbol),
        ("Units", f"{INVESTORS:,} to {UNITS:,}"),
        ("Closes", f"{CLOSES:%Y-%m-%d %H:%M} UTC"),
        ("Note", "A fictional company. The sandbox sells nothing."),
    ]
    content = document(f"Key investment information: {token.symbol}", facts, [])
    sheet = Document.objects.new_document(f"{token.symbol}-information.pdf", content)
    sheet.pk, sheet.created_at = derived_uuid7(OPENING, sheet.name), OPENING
    # A sandbox whose offerings were removed has it.
    Document.objects.bulk_create([sheet], ignore_conflicts=True)
    return sheet


def open_one(
    token: Token,
    closes: datetime,
    reflection: int = REFLECTION_SECONDS,
    documents: tuple[UUID, ...] = (),
) -> Offering:
    terms = OfferingTerms(
        price=token.ledger_head.price_cents or 1_000,
        maximum=UNITS,
        minimum=INVESTORS,
        opens=OPENING,
        closes=closes,
        source=UnitSource.MINT,
        reflection=reflection,
        fee=150,
        vat=2_000,
        documents=documents,
    )
    id = derived_uuid7(OPENING, f"offering {token.symbol}")
    actor = colleague(ASKER).email or ""
    drafted = draft(token, terms, actor, id)
    decided = deciding.offering_content(drafted, deciding.OPEN)
    with carry_out_requests(file_and_approve(ApprovalKind.OFFERING, decided)):
        return deciding.open_offering(drafted, actor)


def sell(token: Token, investors: list[Account]) -> None:
    """Subscribe, close by the clock, allot and settle."""
    offering = open_one(token, timezone.now() + SETTLES_IN, reflection=0)
    assert offering.price is not None
    for account in investors:
        wanted = Terms(UNITS // 100, offering.price)
        subscriptions.subscribe(offering, account, wanted, PARTNER)
    time.sleep(max(0, (offering.closes_at - timezone.now()).total_seconds()))
    deciding.close_due(timezone.now())
    offering.refresh_from_db()
    actor = colleague(ASKER).email or ""
    content = deciding.offering_content(offering, deciding.ALLOT)
    with carry_out_requests(file_and_approve(ApprovalKind.OFFERING, content)):
        offering = deciding.allot_units(offering, content["digest"], actor)
    settled = deciding.settlement_content(offering)
    [request] = file_and_approve(ApprovalKind.SETTLEMENT, settled)
    deciding.settle(offering, request.pk, actor)

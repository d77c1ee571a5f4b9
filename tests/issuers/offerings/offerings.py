"""Offerings in tests: drafted, opened by two people, subscribed and settled."""

import uuid
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.approvals.models import ApprovalKind
from issuers.models import Token
from issuers.offerings import deciding, subscriptions
from issuers.offerings.drafting import OfferingTerms, draft
from issuers.offerings.models import Offering, Subscription
from issuers.offerings.subscriptions import Terms
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.sandbox.data.approvals import file_and_approve
from tests.accounts.money import carry
from tests.approved import approved_record, asker
from tests.issuers.register import new_issuer
from tests.owner import tamper

HOUR = timedelta(hours=1)


def new_token(treasury: int = 1_000, **more: Any) -> Token:
    """A token on the primary market, with units in its issuer's treasury."""
    name = uuid.uuid4().hex[:12].upper()
    token = Token.objects.create(issuer=new_issuer(), name=name, symbol=name, **more)
    if treasury:
        place = ledger.treasury(token.issuer)
        approved_record([Entry(token.pk, Kind.MINT, treasury, None, place)], "staff")
    return token


def terms(**more: Any) -> OfferingTerms:
    """100 units at 10 €, at least 10 of them, for an hour from now on."""
    now = timezone.now()
    given: dict[str, Any] = {
        "price": 1_000,
        "maximum": 100,
        "minimum": 10,
        "opens": now - HOUR,
        "closes": now + HOUR,
    }
    return OfferingTerms(**given | more)


def opened(token: Token | None = None, **more: Any) -> Offering:
    offering = draft(token or new_token(), terms(**more), asker())
    return carry(
        ApprovalKind.OFFERING, deciding.offering_content(offering, deciding.OPEN)
    )


def subscribe(
    offering: Offering, account: Account, units: int, limit: int | None = None
) -> Subscription:
    offering.refresh_from_db()
    wanted = Terms(units, limit or offering.prices[1])
    return subscriptions.subscribe(offering, account, wanted, account.partner.login)


def close(offering: Offering) -> Offering:
    """End its time and all reflection periods, and close it as the clock does."""
    past = "clock_timestamp() - interval '1 minute'"
    tamper(
        f"UPDATE issuers_offering SET closes_at = {past} WHERE id = '{offering.pk}'",
        f"UPDATE issuers_subscription SET reflects_until = {past}"
        f" WHERE offering_id = '{offering.pk}'",
    )
    deciding.close_due(timezone.now())
    offering.refresh_from_db()
    return offering


def allot(offering: Offering) -> Offering:
    return step(offering, deciding.ALLOT)


def step(offering: Offering, what: str, **more: Any) -> Offering:
    offering.refresh_from_db()
    content = deciding.offering_content(offering, what, **more)
    return carry(ApprovalKind.OFFERING, content)


def settle(offering: Offering) -> Offering:
    offering.refresh_from_db()
    [request] = file_and_approve(
        ApprovalKind.SETTLEMENT, deciding.settlement_content(offering)
    )
    return deciding.settle(offering, request.pk, asker())


def set_reflection(subscription: Subscription, until: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz::text", [until])
        [(text,)] = cursor.fetchall()
    tamper(
        f"UPDATE issuers_subscription SET reflects_until = '{text}'"
        f" WHERE id = '{subscription.pk}'"
    )

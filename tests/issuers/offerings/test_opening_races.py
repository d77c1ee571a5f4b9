"""An offering and the secondary market of its token never open at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.approvals.four_eyes import carrying
from accounts.approvals.models import ApprovalKind
from issuers.models import Token
from issuers.offerings import deciding
from issuers.offerings.drafting import draft
from issuers.offerings.models import IssuerCash, Offering
from partnerapi.sandbox.data.approvals import file_and_approve
from tests.approved import asker
from tests.issuers.offerings.offerings import new_token, terms
from tests.waiting import until_waiting_for_a_lock

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]
SECONDARY = Token.MarketType.SECONDARY_MARKET


def drafted(token: Token, **more: Any) -> Callable[[], Offering]:
    """What opens a draft of a token that two people have approved."""
    offering = draft(token, terms(**more), asker())
    content = deciding.offering_content(offering, deciding.OPEN)
    [request] = file_and_approve(ApprovalKind.OFFERING, content)

    def opens() -> Offering:
        with carrying([request.pk]):
            return deciding.open_offering(offering, asker())

    return opens


def trades(token: Token) -> None:
    with transaction.atomic():
        Token.objects.filter(pk=token.pk).update(market_type=SECONDARY)


def refusal(act: Callable[[], Any]) -> str:
    """Why an act of another session was refused; empty: it was not."""
    try:
        act()
    except Exception as error:  # noqa: BLE001
        return str(error)
    finally:
        connection.close()
    return ""


def beside(first: Callable[[], Any], second: Callable[[], Any]) -> str:
    """Begin the second act while the first is not committed."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            waits = pool.submit(refusal, second)
            until_waiting_for_a_lock()
        return waits.result()


def test_a_token_that_is_being_offered_does_not_reach_the_secondary_market():
    token = new_token()
    why = beside(drafted(token), lambda: trades(token))
    assert "has an offering under way" in why
    token.refresh_from_db()
    assert token.market_type == "PRIMARY_MARKET"
    assert token.offerings.get().status == "OPEN"


def test_a_token_that_reaches_the_secondary_market_is_not_offered():
    token = new_token()
    why = beside(lambda: trades(token), drafted(token))
    assert "of a token on the primary market" in why
    token.refresh_from_db()
    assert token.market_type == SECONDARY
    assert token.offerings.get().status == "DRAFT"


def test_an_issuer_whose_tokens_are_offered_at_once_has_one_cash_account():
    token = new_token()
    other = Token.objects.create(issuer=token.issuer, name="Other", symbol="OTHERCLASS")
    assert beside(drafted(token), drafted(other, source="MINT")) == ""
    assert {*Offering.objects.values_list("status", flat=True)} == {"OPEN"}
    assert IssuerCash.objects.filter(issuer=token.issuer).count() == 1

"""Several requests are approved by one confirmation."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import file_request
from accounts.approvals.models import ApprovalDecision, ApprovalKind, ApprovalRequest
from accounts.people.models import User
from issuers.register.approvals import price_content
from issuers.register.models import TokenPrice
from tests.accounts.test_four_eyes import RIGHTS, member
from tests.issuers.register import empty_token, new_issuer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ana() -> User:
    return member("ana", *RIGHTS)


@pytest.fixture
def ben() -> Client:
    client = Client()
    client.force_login(member("ben", *RIGHTS))
    return client


def asked(ana: User, count: int, of: str = "T") -> list[ApprovalRequest]:
    issuer = new_issuer()
    requests = []
    for place in range(count):
        token = empty_token(issuer, f"{of}{place}", timezone.now())
        content = price_content(token.pk, 500 + place, "NAV")
        title = f"Price of {token.symbol}"
        requests.append(file_request(ApprovalKind.PRICE, content, title, "NAV", ana))
    return requests


def choose(client: Client, requests: list[ApprovalRequest]) -> str:
    """The address of the page that confirms what was chosen in the list."""
    chosen = [str(request.pk) for request in requests]
    said = {"action": "approve_together", "_selected_action": chosen}
    listed = reverse("admin:accounts_approvalrequest_changelist")
    return client.post(listed, said).headers["location"]


def test_one_confirmation_approves_and_executes_all(ana: User, ben: Client):
    requests = asked(ana, 3)
    page = choose(ben, requests[:2])
    shown = ben.get(page).content.decode()
    assert "Price of T0" in shown
    assert "Price of T1" in shown
    assert "Price of T2" not in shown
    assert "Approve 2 requests" in shown
    said = ben.post(page, {"do": "approve"}, follow=True).content.decode()
    assert "Price of T1: approved and executed." in said
    prices = TokenPrice.objects.order_by("price_cents")
    assert [price.price_cents for price in prices] == [500, 501]
    [one, other] = ApprovalDecision.objects.all()
    assert one.decided_at == other.decided_at


def test_all_or_none_are_approved(ana: User, ben: Client):
    requests = asked(ana, 1)
    own = User.objects.get(email="ben@staff.example")
    requests += asked(own, 1, "OWN")
    page = choose(ben, requests)
    shown = ben.get(page).content.decode()
    assert "You cannot approve your own request" in shown
    assert 'value="approve"' not in shown
    ben.post(page, {"do": "approve"})
    assert not ApprovalDecision.objects.exists()


def test_more_than_twenty_are_too_many(ana: User, ben: Client):
    listed = choose(ben, asked(ana, 21))
    assert "Select at most 20 requests." in ben.get(listed).content.decode()

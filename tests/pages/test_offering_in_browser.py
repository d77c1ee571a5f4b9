"""The page of an offering, in each state that it can be in."""

from typing import Any

import pytest
from django.test import Client

from issuers.offerings import deciding
from issuers.offerings.drafting import draft
from issuers.offerings.models import Offering, OfferingStatus
from tests.accounts.money import deposit
from tests.approved import approved_rule, asker
from tests.issuers.offerings.offerings import (
    allot,
    close,
    new_token,
    opened,
    settle,
    step,
    subscribe,
    terms,
)
from tests.marketdata.trading.trading import new_clients
from tests.owner import superuser
from tests.pages.test_browser import PATIENCE_MS, axe, browser, faults

__all__ = ["axe", "browser"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person"),
]


@pytest.fixture(scope="module", autouse=True)
def asks_the_database():
    """Playwright keeps a loop in this thread, in which Django refuses to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


def sold(**more: Any) -> Offering:
    """An open offering of 100 units, of which two clients want 70 each."""
    offering = opened(fee=150, vat=2_000, **more)
    for account in new_clients(2):
        deposit(account, 100_000)
        subscribe(offering, account, 70)
    return offering


def in_each_state() -> list[Offering]:
    refused = sold()
    approved_rule(refused.token, "MAX_HOLDERS", {"holders": 1})
    settled = allot(close(sold()))
    failed = close(opened(minimum=50))
    withdrawn = sold()
    step(withdrawn, deciding.WITHDRAWN, reason="The board has another plan")
    return [
        draft(new_token(), terms(), asker()), refused, close(sold()),
        allot(close(sold())), settle(settled), failed,
        withdrawn,
    ]  # fmt: skip


def test_everybody_can_read_it_in_each_state(browser, live_server, axe):
    staff = Client()
    staff.force_login(
        superuser("olga@staff.example", type="INDIVIDUAL", last_name="Okoro")
    )
    [cookie] = staff.cookies.values()
    page = browser.new_page(bypass_csp=True)
    page.set_default_timeout(PATIENCE_MS)
    page.context.add_cookies(
        [{"name": cookie.key, "value": cookie.value, "url": live_server.url}]
    )
    try:
        found = []
        offerings = in_each_state()
        for offering in offerings:
            assert page.goto(f"{live_server.url}/admin/offering/{offering.pk}/").ok
            found += faults(page, axe)
        assert found == []
    finally:
        page.close()
    states = Offering.objects.filter(pk__in=[one.pk for one in offerings])
    assert {*states.values_list("status", flat=True)} == {*OfferingStatus.values}

"""Passkeys in a real browser, with the device that Chromium offers to programs."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.approvals.four_eyes import file_request
from accounts.approvals.models import ApprovalDecision, ApprovalKind, ApprovalRequest
from accounts.approvals.verification import verify
from accounts.passkeys.models import Passkey
from accounts.people.models import User
from issuers.register.approvals import price_content
from partnerapi.staff.approvals.together import address_of_all
from tests.accounts.test_four_eyes import RIGHTS, member
from tests.issuers.register import empty_token, new_issuer
from tests.owner import tamper
from tests.pages.test_browser import PATIENCE_MS, axe, browser, faults
from tests.passkeys import counting, enrolled

__all__ = ["axe", "browser"]
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])


@pytest.fixture(scope="module", autouse=True)
def asks_the_database():
    """Playwright keeps a loop in this thread, in which Django refuses to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        yield


@pytest.fixture
def page(browser, live_server):
    """A page of a browser that has a device; the person touches it at once."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    told = devices.send(
        "WebAuthn.addVirtualAuthenticator",
        {
            "options": {
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": True,
            }
        },
    )
    page.device, page.devices = told["authenticatorId"], devices
    yield page
    page.close()


def sign_in(page, live_server, person: User) -> None:
    client = Client()
    client.force_login(person)
    [cookie] = client.cookies.values()
    page.context.add_cookies(
        [{"name": cookie.key, "value": cookie.value, "url": live_server.url}]
    )


def opened(page, live_server, name: str, *arguments: object) -> None:
    page.goto(live_server.url + reverse(f"admin:{name}", args=arguments))


def test_a_person_enrols_a_passkey_and_signs_decisions(
    page, live_server, settings, tmp_path: Path
):
    settings.PARTNER_API_STATEMENTS = str(tmp_path)
    settings.PARTNER_API_STATEMENT_KEY = "A" * 43 + "="
    ana, ben = member("ana", *RIGHTS), member("ben", *RIGHTS)
    issuer = new_issuer()
    token = empty_token(issuer, "SIGNED", timezone.now())
    content = price_content(token.pk, 500, "NAV")
    requests = [
        file_request(ApprovalKind.PRICE, content, "Price", "Valued", ana)
        for _ in range(2)
    ]
    tamper("UPDATE accounts_approvalpolicy SET allows_code = FALSE")
    sign_in(page, live_server, ben)
    opened(page, live_server, "passkeys")
    page.get_by_label("Name of the device").fill("Laptop")
    page.get_by_role("button", name="Enrol a passkey").click()
    page.get_by_text("Enrolled. The code of this passkey is").wait_for()
    key = Passkey.objects.get()
    page.get_by_text("Waits: sign it with an older passkey").wait_for()
    told = io.StringIO()
    call_command("key", "vouch", ben.email, key.code, stdout=told)
    assert "Vouched for Laptop of" in told.getvalue()
    page.reload()
    page.get_by_text("Active", exact=True).wait_for()

    change = "accounts_approvalrequest_change"
    opened(page, live_server, change, requests[0].pk)
    page.get_by_text("Your passkey signs the content of this request").wait_for()
    page.get_by_role("button", name="Reject").click()
    page.get_by_label("Reason").fill("Not\nvalued")
    page.get_by_role("button", name="Reject").click()
    page.get_by_text("Rejected.", exact=True).wait_for()
    opened(page, live_server, change, requests[1].pk)
    page.get_by_role("button", name="Approve and execute").click()
    page.get_by_text("Approved and executed.", exact=True).wait_for()
    decisions = ApprovalDecision.objects.order_by("decided_at")
    assert [(one.is_approved, one.reason) for one in decisions] == [
        (False, "Not\nvalued"), (True, ""),
    ]  # fmt: skip
    assert all(one.assertion_id for one in decisions)
    assert [finding for finding in verify() if finding.breaches] == []

    # One touch signs two.
    pair = [
        file_request(
            ApprovalKind.PRICE,
            price_content(empty_token(issuer, symbol, timezone.now()).pk, 500, "NAV"),
            *(f"Price of {symbol}", "Valued", ana),
        )
        for symbol in ("ONE", "TWO")
    ]
    page.goto(live_server.url + address_of_all([request.pk for request in pair]))
    page.get_by_role("button", name="Approve 2 requests").click()
    page.get_by_text("Price of TWO: approved and executed.").wait_for()
    made = {decision.assertion_id for decision in ApprovalDecision.objects.all()}
    assert len(made) == 3
    assert [finding for finding in verify() if finding.breaches] == []

    # The device does not verify the person any more.
    page.devices.send(
        "WebAuthn.setUserVerified",
        {"authenticatorId": page.device, "isUserVerified": False},
    )
    third = file_request(
        ApprovalKind.PRICE,
        price_content(token.pk, 600, "NAV"),
        *("Price", "Valued again", ana),
    )
    opened(page, live_server, change, third.pk)
    page.get_by_role("button", name="Approve and execute").click()
    page.get_by_text("Not signed: the device refused").wait_for()
    assert not hasattr(ApprovalRequest.objects.get(pk=third.pk), "decision")


def test_everybody_can_read_the_pages(browser, live_server, axe):
    ana, ben = member("ana", *RIGHTS), member("ben", *RIGHTS)
    counting(ben)
    enrolled(ana)
    token = empty_token(new_issuer(), "READ", timezone.now())
    content = price_content(token.pk, 500, "NAV")
    request = file_request(ApprovalKind.PRICE, content, "Price of READ", "NAV", ana)
    # Else the page would be blamed for what the policy refuses to axe.
    page = browser.new_page(bypass_csp=True)
    sign_in(page, live_server, ben)
    for path in (
        reverse("admin:passkeys"),
        reverse("admin:accounts_approvalrequest_change", args=[request.pk]),
        address_of_all([request.pk]),
    ):
        page.goto(live_server.url + path)
        assert [*faults(page, axe)] == []
    page.close()


def test_an_ip_address_goes_to_localhost():
    client = Client(headers={"host": "127.0.0.1:8080"})
    client.force_login(member("ana", *RIGHTS))
    answer = client.get(reverse("admin:passkeys"))
    assert (answer.status_code, answer.headers["location"]) == (
        302, "http://localhost:8080/admin/passkeys/",
    )  # fmt: skip

"""A partner's desk in a real browser, with the device that Chromium offers to programs.

From the invitation to a key that works; then each page on phones, bright and dark.
"""

import pytest
from django.test import Client

from accounts.desk.invitations import invitation_path
from accounts.keys.models import ApiKey
from partnerapi.gateway.counts import counts
from partnerapi.gateway.recent import recent
from partnerapi.sandbox.data.approvals import approved_key
from tests.characters import Ask, World, new_world
from tests.desks import active_member, invited_member, let_rest, sign_in
from tests.pages.test_browser import axe, browser, faults
from tests.pages.test_desk import PAGES, export_of
from tests.pages.test_passkeys_in_browser import asks_the_database, page

__all__ = ["asks_the_database", "axe", "browser", "page"]
pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "owner"])
MAIA = "maia@broker.example"
READS = ["issuers:read"]


@pytest.fixture
def world(live_server, settings) -> World:
    settings.PARTNER_API_SITE = live_server.url
    counts.noted.clear()
    return new_world()


def test_a_person_accepts_signs_in_and_issues_a_key(page, live_server, world: World):
    maia = invited_member(world.partner, MAIA, READS)
    page.goto(live_server.url + invitation_path(maia))
    page.get_by_role("button", name="Set a passkey").click()
    page.get_by_role("heading", name="Your passkey is set").wait_for()
    page.get_by_role("link", name="To the sign-in").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_text("cannot be used yet").wait_for()
    let_rest(maia)
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.get_by_role("heading", name=world.partner.name).wait_for()

    page.get_by_role("link", name="Keys").click()
    issue = page.get_by_role("button", name="Issue with my passkey")
    issue.click()
    page.get_by_text("This field is required.").wait_for()
    page.get_by_label("issuers:read").check()
    issue.click()
    page.get_by_role("heading", name="The new key").wait_for()
    token = page.locator(".secret").inner_text()
    assert Ask(token)("{ viewer { scopes } }").data == {"viewer": {"scopes": READS}}
    page.get_by_role("link", name="I have stored the key").click()
    assert token not in page.content()
    page.get_by_text("Revoke", exact=False).first.click()
    page.get_by_role("button", name="Revoke the key").click()
    page.get_by_text("revoked").first.wait_for()
    assert ApiKey.objects.get().revoked_at

    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").wait_for()
    page.goto(f"{live_server.url}/partner/keys")
    page.get_by_role("heading", name="Your desk").wait_for()


def test_everybody_can_read_the_desk(browser, live_server, axe, world: World):
    _, token = approved_key(world.partner, READS)
    ask = Ask(token)
    ask("{ viewer { login } }")
    ask("{ nonsense }")
    recent.write()
    counts.write()
    export_of(world.partner, "ISSUERS")
    invited = invited_member(world.partner, "joao.with.a.long.name@broker.example")
    _, device = active_member(world.partner, MAIA, READS)
    client = Client()
    assert sign_in(client, device).status_code == 302
    # Else the page would be blamed for what the policy refuses to axe.
    page = browser.new_page(bypass_csp=True)
    for path in (invitation_path(invited), "/partner/invitation/x", "/partner/sign-in"):
        page.goto(live_server.url + path)
        assert [*faults(page, axe)] == []
    cookie = client.cookies["desk"]
    page.context.add_cookies(
        [{"name": "desk", "value": cookie.value, "url": f"{live_server.url}/partner"}]
    )
    for path in PAGES:
        page.goto(live_server.url + path)
        assert page.get_by_role("navigation", name="Desk").is_visible(), path
        assert [*faults(page, axe)] == []
    page.close()

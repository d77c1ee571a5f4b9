"""Pages that refuse: what they say, and that everyone can read it."""

import pytest
from django.contrib import admin
from django.template.loader import render_to_string
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.people.models import User
from partnerapi.staff.authentication.second_factor import CodeForm, picture
from tests.pages.test_back_office_in_browser import back_office, readable
from tests.pages.test_browser import PATIENCE_MS, axe, browser, faults, page

__all__ = ["axe", "back_office", "browser", "page", "readable"]
GUESSES = 5


@pytest.fixture
def shown(readable, running_server):
    """Shows HTML as if the system had answered with it; returns what is wrong."""
    page, wrong = readable

    def show(html):
        address = running_server["admin"] + "answer/"
        page.route(
            address, lambda route: route.fulfill(body=html, content_type="text/html")
        )
        page.goto(address)
        assert page.evaluate("document.styleSheets[0].cssRules.length") > 20
        return [*wrong()]

    return show


@pytest.mark.parametrize(
    ("template", "context"),
    [
        ("400.html", {}),
        ("500.html", {}),
        ("503.html", {}),
        ("admin/sign_in_later.html", {"seconds": 1}),
    ],
)
def test_everybody_can_read_why_there_is_no_answer(shown, template, context):
    assert shown(render_to_string(template, context)) == []


def test_everybody_can_read_how_to_give_a_second_factor(shown, rf, settings):
    settings.PARTNER_API_STAFF_OTP = True
    request = rf.get("/admin/second-factor/")
    request.user = User(email="ana@staff.example", is_staff=True, is_superuser=True)
    request.user.is_verified = lambda: False
    # What reads no table: the browser's thread may not.
    device = TOTPDevice(user=request.user, confirmed=False)
    context = admin.site.each_context(request) | {
        "title": "Second factor",
        "form": CodeForm(request, device, None),
        "picture": picture(device),
        "secret": "JBSWY3DPEHPK3PXP",
    }
    assert shown(render_to_string("admin/second_factor.html", context, request)) == []


def test_everybody_can_read_that_a_colleague_must_allow_it(readable, running_server):
    page, wrong = readable
    page.goto(running_server["admin"] + "accounts/apikey/")
    page.locator("#result_list tbody th a").first.click()
    key = page.locator(".places code").last.inner_text()
    answer = page.goto(f"{running_server['admin']}accounts/apikey/{key}/delete/")
    assert answer.status == 403
    page.get_by_role("heading", name="You do not have permission").wait_for()
    found = [*wrong()]
    page.get_by_role("link", name="Roles and permissions").click()
    page.get_by_role("heading", name="Roles and permissions").wait_for()
    assert found == []


def test_everybody_can_read_that_a_form_is_too_old(readable, running_server):
    page, wrong = readable
    page.goto(running_server["admin"] + "password_change/")
    page.locator("[name=csrfmiddlewaretoken]").evaluate_all(
        "tokens => tokens.forEach((one) => { one.value = 'x'.repeat(64) })"
    )
    page.evaluate("document.querySelector('#content form').submit()")
    page.get_by_role("heading", name="This form has expired").wait_for()
    assert [*wrong()] == []


def test_everybody_can_read_that_signing_in_is_locked(browser, running_server, axe):
    page = browser.new_page(bypass_csp=True)
    page.set_default_timeout(PATIENCE_MS)
    try:
        page.goto(running_server["admin"])
        for _ in range(GUESSES):
            page.get_by_label("Email").fill("locked@nobody.example")
            page.get_by_label("Password").fill("wrong")
            with page.expect_navigation():
                page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Signing in is locked").wait_for()
        assert [*faults(page, axe)] == []
    finally:
        page.close()

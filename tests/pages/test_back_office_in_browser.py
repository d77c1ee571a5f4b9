"""The back office in a real browser, under its policy."""

import re

import pytest

from tests.pages.test_browser import browser, page

__all__ = ["browser", "page"]


@pytest.fixture
def back_office(page, running_server):
    """A page on which staff of the sandbox have signed in."""
    page.goto(running_server["admin"])
    staff = running_server["staff"]
    page.get_by_label("Email").fill(staff["login"])
    page.get_by_label("Password").fill(staff["password"])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Back office").wait_for()
    return page


def test_the_policy_allows_nothing_unsafe(back_office):
    answer = back_office.reload()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_every_list_and_every_form_opens(back_office, running_server):
    paths = back_office.locator("#content-main th a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(paths) > 15
    opened = 0
    for path in paths:
        back_office.goto(running_server["admin"].replace("/admin/", path))
        links = back_office.locator("#result_list th a, .object-tools a.addlink")
        forms = links.evaluate_all(
            "links => links.map(link => link.getAttribute('href'))"
        )
        for form in {re.sub("/[^/]+/change/.*", "", f): f for f in forms}.values():
            target = running_server["admin"].replace("/admin/", form)
            assert back_office.goto(target).ok
            opened += 1
    assert opened > 15


def test_pickers_and_searches_of_a_form_work(back_office, running_server):
    back_office.goto(running_server["admin"] + "issuers/article/add/")
    back_office.locator(".datetimeshortcuts a").first.click()
    assert back_office.locator("input.vDateField").first.input_value() != ""
    back_office.locator(".select2-selection").first.click()
    back_office.locator(".select2-search__field").fill("lumar")
    back_office.locator(".select2-results__option", has_text="Lumarelle").wait_for()


def test_an_action_asks_first(back_office, running_server):
    back_office.goto(running_server["admin"] + "issuers/article/")
    back_office.locator("#action-toggle").check()
    assert back_office.locator("#result_list tr.selected").count() > 0
    back_office.locator("select[name=action]").select_option("delete_selected")
    back_office.get_by_role("button", name="Go", exact=True).click()
    back_office.get_by_role("heading", name="Delete multiple").wait_for()

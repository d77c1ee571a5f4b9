"""A second person decides in a browser: by a button, and by nothing else."""

import pytest

from tests.pages.test_back_office_in_browser import (  # noqa: F401
    back_office,
    readable,
)
from tests.pages.test_browser import axe, browser, page  # noqa: F401
from tests.pages.test_treasury_in_browser import colleague, upload  # noqa: F401


@pytest.fixture
def asked(back_office, colleague, running_server):  # noqa: F811
    """The address of a request for a withdrawal that a colleague has filed."""
    address = running_server["admin"]
    colleague.goto(address + "accounts/withdrawal/?status__exact=REQUESTED")
    colleague.locator("#result_list tbody th a").first.click()
    colleague.get_by_role("link", name="approval").click()
    colleague.locator("#id_reason").fill("The client's own account")
    colleague.get_by_role("button", name="Submit for approval").click()
    colleague.get_by_role("button", name="Take this request back").wait_for()
    return colleague.url


def status(page):  # noqa: F811
    page.reload()
    return page.locator("table.request strong").inner_text()


def test_enter_decides_nothing(back_office, asked):  # noqa: F811
    page = back_office  # noqa: F811
    page.goto(asked)
    reason = page.get_by_label("Reason (required to reject")
    for text in ("No! wrong, refuse", ""):
        reason.fill(text)
        reason.press("Enter")
        reason.press("Control+Enter")
        page.keyboard.press("Enter")
    assert page.url == asked
    assert status(page) == "Waiting"
    page.get_by_role("button", name="Reject").click()
    assert reason.evaluate("field => field.validity.valueMissing")
    assert status(page) == "Waiting"
    # The first button that the keyboard reaches rejects, and the space bar presses it.
    reason.fill("The client has left")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Reject"
    page.keyboard.press("Space")
    page.get_by_text("Rejected.").wait_for()
    assert status(page) == "Rejected"


def test_the_page_can_be_read_and_its_asker_takes_it_back(
    readable,  # noqa: F811
    colleague,  # noqa: F811
    asked,
):
    page, faults = readable  # noqa: F811
    page.goto(asked)
    page.get_by_role("button", name="Approve and execute").wait_for()
    assert [*faults()] == []
    for place in page.locator("table a").evaluate_all("all => all.map(a => a.href)"):
        assert page.goto(place).ok
    colleague.get_by_role("button", name="Take this request back").click()
    colleague.get_by_text("Request taken back.").wait_for()
    page.goto(asked)
    page.get_by_role("rowheader", name="Taken back by").wait_for()
    assert page.get_by_role("button", name="Approve and execute").count() == 0
    assert [*faults()] == []

"""What staff do, with the keyboard alone; the focus is always seen."""

import pytest

from tests.pages.test_browser import PATIENCE_MS, axe, browser, page

__all__ = ["axe", "browser", "page"]

MOST_STOPS = 300
FOCUS = """
(() => {
    const stop = document.activeElement, style = getComputedStyle(stop);
    const seen = style.outlineStyle !== "none" || style.boxShadow !== "none";
    return [seen || stop === document.body, stop.outerHTML];
})()
"""
"""Whether people see what has the focus; the page itself need not show it."""


class Keyboard:
    """Staff who have signed in, without a mouse."""

    def __init__(self, page, admin, login, password):
        self.page, self.admin = page, admin
        page.goto(admin)
        self.write(page.get_by_label("Email"), login)
        self.write(page.get_by_label("Password"), password)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Back office").wait_for()

    def reach(self, target):
        """Go from stop to stop until the target has the focus."""
        for _ in range(MOST_STOPS):
            seen, stop = self.page.evaluate(FOCUS)
            assert seen, stop
            if target.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"No way to {target}")

    def press(self, role, name, exact=True):
        self.choose(self.page.get_by_role(role, name=name, exact=exact).first)

    def choose(self, target):
        """Press Enter on what leads to another page."""
        self.reach(target)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def write(self, field, text):
        self.reach(field)
        self.page.keyboard.type(text)

    def find(self, text):
        self.page.goto(self.admin)
        self.write(self.page.locator("#find"), text)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")


@pytest.fixture
def people(page, running_server):
    """The requester and the approver."""
    admin, staff = running_server["admin"], running_server["staff"]
    other = page.context.browser.new_page()
    other.set_default_timeout(PATIENCE_MS)
    yield (
        Keyboard(page, admin, staff["login"], staff["password"]),
        Keyboard(other, admin, staff["colleague"], staff["password"]),
    )
    other.close()


def test_a_key_is_asked_for_approved_issued_and_revoked(people):
    asker, decider = people
    asker.find("observer")
    asker.press("link", "Rotate", exact=False)
    asker.write(asker.page.get_by_label("Reason"), "For a week")
    asker.press("button", "Submit for approval")
    asker.page.get_by_text("Nothing is issued yet").wait_for()

    decider.page.goto(decider.admin)
    decider.press("link", "Requests")
    decider.page.get_by_role("heading", name="Requests").wait_for()
    decider.choose(decider.page.locator("#result_list tbody th a").first)
    decider.press("button", "Approve")
    decider.page.get_by_text("colleague@sandbox.example").first.wait_for()

    asker.page.goto(asker.admin + "accounts/approvalrequest/?status=ALL")
    asker.choose(asker.page.locator("#result_list tbody th a").first)
    asker.press("button", "Issue the key")
    asker.press("link", "I have stored the key")
    asker.press("link", "Revoke", exact=False)
    asker.write(asker.page.get_by_label("Reason (kept in the log)"), "A week is over")
    asker.press("button", "Revoke")
    asker.page.get_by_text("revoked").first.wait_for()


def test_a_delivery_is_previewed_and_asked_for(people):
    asker, _ = people
    asker.press("link", "Deliver")
    asker.choose(asker.page.locator("#content .columns a").first)
    asker.press("button", "Preview: issue new shares")
    asker.write(
        asker.page.get_by_label("Reason (visible to the approver)"), "By keyboard"
    )
    asker.press("button", "Submit for approval")
    asker.page.get_by_text("nothing is delivered before it is approved").wait_for()
    asker.press("button", "Cancel the remaining lines")
    asker.page.get_by_text("remain undelivered").wait_for()


def test_a_sign_in_is_reset_by_two(people):
    """A picker takes what is typed; the space bar presses a button, too."""
    asker, decider = people
    asker.page.goto(asker.admin + "partnerapi/failedsignin/")
    asker.press("link", "Reset a sign-in")
    asker.write(asker.page.locator("#id_person"), "colleague@sandbox.example")
    asker.write(asker.page.get_by_label("Reason"), "The phone is lost")
    asker.reach(asker.page.get_by_role("button", name="Submit for approval"))
    with asker.page.expect_navigation():
        asker.page.keyboard.press("Space")
    asker.page.get_by_text("Waiting for a second approver").wait_for()

    decider.page.goto(decider.admin)
    decider.press("link", "Requests")
    decider.choose(decider.page.locator("#result_list tbody th a").first)
    decider.page.get_by_text("at the next sign-in, the password alone").wait_for()
    decider.press("button", "Approve and execute")
    decider.page.get_by_text("Approved and executed.").wait_for()


def test_the_log_is_narrowed_and_a_line_of_it_opened(people):
    asker, _ = people
    asker.press("link", "Log")
    kind = asker.page.get_by_label("Kind")
    asker.reach(kind)
    asker.page.keyboard.type("Sign")
    asker.press("button", "Show")
    line = asker.page.locator("ol.log > li", has_text="signed in from").first
    asker.reach(line.locator("summary"))
    asker.page.keyboard.press("Space")
    line.get_by_role("columnheader", name="Before").wait_for()

"""Treasury's work in a browser: two people, a bank's files, and no terminal."""

import re
from uuid import uuid4

import psycopg
import pytest

from tests.pages.test_back_office_in_browser import (  # noqa: F401
    back_office,
    readable,
)
from tests.pages.test_browser import PATIENCE_MS, axe, browser, page  # noqa: F401

PASSWORD = "correct horse battery"


@pytest.fixture
def colleague(back_office, running_server, running_system):  # noqa: F811
    """The page of someone with the role Treasury, whom the sandbox's staff add.

    The owner has her requests decided before a day has passed.
    """
    email = f"t{uuid4().hex[:12]}@staff.example"
    back_office.goto(running_server["admin"] + "accounts/user/add/")
    back_office.locator("#id_type").select_option("INDIVIDUAL")
    for name, text in {
        "email": email,
        "password1": PASSWORD,
        "password2": PASSWORD,
        "first_name": "Tess",
        "last_name": "Treasury",
    }.items():
        back_office.locator(f"#id_{name}").fill(text)
    back_office.get_by_role("button", name="Save", exact=True).click()
    back_office.locator("#id_is_staff").check()
    back_office.locator("#id_groups_from").select_option(label="Treasury")
    back_office.locator("#id_groups_add, #id_groups_add_link").first.click()
    back_office.get_by_role("button", name="Save", exact=True).click()
    back_office.get_by_text("was changed successfully").wait_for()
    with psycopg.connect(running_system.variable("DATABASE_OWNER_URL")) as owner:
        owner.execute(
            "SELECT accounts_appoint(id) FROM accounts_user WHERE email = %s", [email]
        )
    context = back_office.context.browser.new_context()
    page = context.new_page()  # noqa: F811
    page.set_default_timeout(PATIENCE_MS)
    page.goto(running_server["admin"])
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Back office").wait_for()
    yield page
    context.close()


def upload(page, running_system, line: str) -> None:  # noqa: F811
    """Book a line that no approval is needed for."""
    with psycopg.connect(running_system.variable("DATABASE_OWNER_URL")) as owner:
        [[lies]] = owner.execute(
            "SELECT -balance FROM accounts_cashhead WHERE kind = 'BANK'"
        )
    page.goto(running_system.described["admin"] + "import/")
    page.locator("#id_kind").select_option(label="Bank statement")
    closing = lies + int(line.split(",")[2])
    page.get_by_label("closing balance").fill(f"{closing / 100:.2f}")
    content = f"reference,text,amount,date\n{line}".encode()
    file = {"name": "bank.csv", "mimeType": "text/csv", "buffer": content}
    page.locator("#id_file").set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Import bank statement").click()
    page.get_by_text("bank.csv: 1 new").wait_for()


def ask(page, reason: str) -> str:  # noqa: F811
    """Ask for what the form says; the address of the request."""
    page.locator("#id_reason").fill(reason)
    page.get_by_role("button", name="Submit for approval").click()
    page.get_by_text("Submitted. Waiting for a second approver.").wait_for()
    return page.url


def approve(page, request: str) -> None:  # noqa: F811
    page.goto(request)
    page.get_by_role("button", name="Approve").click()
    page.get_by_text("Approved and executed.").wait_for()


def test_a_withdrawal_is_decided_by_two_and_paid_by_a_file(
    readable,  # noqa: F811
    colleague,
    running_system,
):
    page, faults = readable  # noqa: F811
    colleague.get_by_role(
        "link", name=re.compile("Withdrawals awaiting approval")
    ).click()
    colleague.locator("#result_list tbody th a").first.click()
    withdrawal = colleague.url
    text = colleague.locator(".field-payment_reference .readonly").inner_text()
    cents = colleague.locator(".field-cents .readonly").inner_text()
    amount = re.sub("[^0-9]", "", cents)
    colleague.get_by_role("link", name="approval").click()
    request = ask(colleague, "The client's own account")
    page.goto(request)
    found = [*faults()]
    page.goto(withdrawal)
    found += faults()
    approve(page, request)
    upload(colleague, running_system, f"{uuid4()},{text},-{amount},2027-01-31")
    colleague.goto(withdrawal)
    colleague.locator(".field-status .readonly", has_text="Paid").wait_for()
    assert found == []


def test_unknown_money_is_assigned_by_two(
    readable,  # noqa: F811
    colleague,
    running_system,
):
    page, faults = readable  # noqa: F811
    address, name = running_system.described["admin"], f"B{uuid4().hex}"
    upload(colleague, running_system, f"{name},As agreed,12345,2027-01-31")
    colleague.goto(f"{address}accounts/cashaccount/?kind__exact=CLIENT")
    colleague.locator("#result_list tbody th a").first.click()
    account = colleague.url
    reference = colleague.locator(".field-deposit_reference .readonly").inner_text()
    colleague.goto(f"{address}find/?q={name}")
    line = colleague.url
    colleague.get_by_role("link", name="assignment").click()
    colleague.locator("#id_account").fill(reference)
    approve(page, ask(colleague, "Confirmed by telephone"))
    found = []
    for place in (account, line):
        page.goto(place)
        found += faults()
    colleague.goto(account)
    colleague.get_by_text("€123.45").first.wait_for()
    assert found == []

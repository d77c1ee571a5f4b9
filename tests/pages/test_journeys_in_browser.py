"""What staff do from the home page on, counted in clicks: no terminal, five at most."""

import re
from uuid import uuid4

import pytest

from tests.pages.test_browser import PATIENCE_MS, axe, browser, page
from tests.pages.trades import filled_order

__all__ = ["axe", "browser", "page"]

MOST_CLICKS = 5
TOKEN = "ROSMARIN"


class Walk:
    """One of the staff, on the home page; each click and each Enter counts."""

    def __init__(self, page, admin, login, password):
        self.page, self.admin = page, admin
        page.goto(admin)
        page.get_by_label("Email").fill(login)
        page.get_by_label("Password").fill(password)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Back office").wait_for()
        self.clicks = 0

    def begin(self):
        self.page.goto(self.admin)
        self.clicks = 0

    def click(self, role, name, exact=True):
        self.press(self.page.get_by_role(role, name=name, exact=exact).first)

    def press(self, target):
        target.click()
        self.clicks += 1

    def write(self, label, text):
        self.page.get_by_label(label).first.fill(text)

    def find(self, text):
        self.page.locator("#find").fill(text)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")
        self.clicks += 1

    def sees(self, text):
        self.page.get_by_text(text).first.wait_for()
        assert self.clicks <= MOST_CLICKS


@pytest.fixture
def asker(page, running_server):
    staff = running_server["staff"]
    return Walk(page, running_server["admin"], staff["login"], staff["password"])


@pytest.fixture
def decider(page, running_server):
    staff = running_server["staff"]
    other = page.context.browser.new_page()
    other.set_default_timeout(PATIENCE_MS)
    yield Walk(other, running_server["admin"], staff["colleague"], staff["password"])
    other.close()


def approve_the_latest(decider):
    decider.begin()
    decider.click("link", "Requests")
    decider.press(decider.page.locator("#result_list tbody th a").first)
    decider.click("button", "Approve and execute")
    decider.sees("Approved and executed.")


def test_a_market_is_halted_by_one_and_reopened_by_two(asker, decider):
    asker.begin()
    asker.find(TOKEN)
    asker.click("link", "Market")
    asker.write("Reason", "News of the company are awaited")
    asker.click("button", "Halt")
    asker.sees("The market is halted.")
    asker.begin()
    asker.click("link", "Halted markets", exact=False)
    asker.press(asker.page.locator("#result_list tbody th a").first)
    asker.click("link", "Request reopening")
    asker.write("Reason", "The news are out")
    asker.click("button", "Submit for approval")
    asker.sees("Submitted. Waiting for a second approver.")
    approve_the_latest(decider)


def test_an_order_is_looked_up_and_leads_to_its_trade(asker, running_server):
    order = filled_order(running_server)
    asker.begin()
    asker.find(order)
    asker.sees("Activity")
    asker.press(asker.page.locator("a[href*='/trade/']").first)
    asker.sees("Settlement")
    assert asker.clicks == 2


def test_a_holder_is_found_by_email_and_frozen(asker):
    asker.page.goto(asker.admin + "accounts/user/?type__exact=INDIVIDUAL")
    email = asker.page.locator("#result_list .field-email").last.inner_text()
    asker.begin()
    asker.find(email)
    asker.click("link", "Compliance")
    asker.page.locator("#id_restrict-kind").select_option("FREEZE")
    asker.page.locator("#id_restrict-reason").fill("A court demands it")
    asker.press(asker.page.locator("button[value=restrict]"))
    asker.sees("A court demands it")


def test_a_rule_is_asked_for_and_approved(asker, decider):
    asker.begin()
    asker.find("LUMARELLE")
    asker.click("link", "Set rule")
    asker.page.locator("#id_rule").select_option("MAX_HOLDERS")
    asker.page.locator("#id_says").fill("90000")
    asker.write("Reason", "The articles of the company say so")
    asker.click("button", "Submit for approval")
    asker.sees("Submitted. Waiting for a second approver.")
    approve_the_latest(decider)


def test_an_article_is_published_and_the_log_says_who_did_it(asker):
    title = f"Results {uuid4()}"
    asker.begin()
    asker.click("link", "All data")
    asker.press(asker.page.locator("a[href$='/issuers/article/add/']"))
    asker.press(asker.page.locator(".field-issuer .select2-selection"))
    asker.page.locator(".select2-search__field").fill("Lumarelle")
    asker.press(asker.page.get_by_role("option", name="Lumarelle Optics"))
    asker.page.locator("#id_title").fill(title)
    asker.page.locator("#id_body").fill("Sales grew.")
    asker.page.locator("#id_published_at_0").fill("2026-01-05")
    asker.page.locator("#id_published_at_1").fill("09:00:00")
    asker.press(asker.page.locator("input[name=_save]"))
    asker.sees(title)
    asker.begin()
    asker.click("link", "Log")
    asker.sees(title)


def test_pending_lines_are_found_and_two_are_delivered(asker):
    asker.begin()
    asker.press(asker.page.locator(".queues a[href*='/delivery/?issuer=']").last)
    # Of fewer than a thousand shares each: many shares need a second person.
    few = asker.page.locator("td", has_text=re.compile(r"^\s*\d{1,3}\s*$"))
    lines = asker.page.locator("tr").filter(has=few).locator("input[name=line]")
    for number in range(2):
        asker.press(lines.nth(number))
    asker.click("button", "Preview: issue new shares")
    asker.click("button", "Deliver 2 lines")
    asker.page.get_by_role("heading", name="Lines from 1").wait_for()
    delivered = asker.page.locator("td", has_text=re.compile("^Delivered, entry"))
    assert (delivered.count(), asker.clicks) == (2, 5)


def test_a_table_is_read_at_a_date(asker):
    asker.begin()
    asker.find("lumarelle-optics")
    asker.click("link", "Capitalization table")
    asker.page.locator("input[name=date]").fill("2020-01-01")
    asker.page.locator("input[name=time]").fill("")
    asker.click("button", "Show")
    asker.page.wait_for_url("**/captable/?at=2020-01-0*")
    asker.sees("The address of this page is a permalink")
    assert asker.clicks == 3


def test_an_account_is_suspended_by_one_and_closed_by_two(asker, decider):
    # Of all, those without cash and units can be closed: one that is new has none.
    asker.page.goto(asker.admin + "accounts/account/?status__exact=PENDING")
    asker.page.locator("#result_list tbody th a").first.click()
    account = asker.page.locator(".places code").first.inner_text()
    asker.write("Reason (visible to the partner)", "The papers are there")
    asker.click("button", "Activate")
    asker.page.locator(".places strong", has_text="Active").wait_for()
    asker.begin()
    asker.find(account)
    asker.write("Reason (visible to the partner)", "The client asks for it")
    asker.click("button", "Suspend")
    asker.page.locator(".places strong", has_text="Suspended").wait_for()
    asker.click("link", "Request closing")
    asker.write("Reason", "The client leaves")
    asker.click("button", "Submit for approval")
    asker.sees("Submitted. Waiting for a second approver.")
    assert asker.clicks == 4
    approve_the_latest(decider)
    asker.begin()
    asker.find(account)
    asker.sees("Closed is final")


def test_a_key_is_issued_rotated_and_revoked(asker, decider):
    for name, said in (("New key", "A"), ("Rotate", "B")):
        asker.begin()
        asker.find("observer")
        asker.press(
            asker.page.locator("main").get_by_role("link", name=name, exact=False).first
        )
        if name == "New key":
            asker.press(asker.page.locator("input[name=scopes]").first)
        asker.write("Reason", said)
        asker.click("button", "Submit for approval")
        asker.sees("Nothing is issued yet")
        request, asker.clicks = asker.page.url, 0
        decider.begin()
        decider.click("link", "Requests")
        decider.press(decider.page.locator("#result_list tbody th a").first)
        decider.click("button", "Approve")
        decider.sees("colleague@sandbox.example")
        asker.page.goto(request)
        asker.click("button", "Issue the key")
        asker.click("link", "I have stored the key")
        asker.page.get_by_role("heading", name="API keys").wait_for()
        assert asker.clicks == 2
    asker.begin()
    asker.find("observer")
    asker.click("link", "Revoke", exact=False)
    asker.write("Reason (kept in the log)", "It is in the wrong hands")
    asker.click("button", "Revoke")
    asker.sees("revoked")
    assert asker.clicks == 3


def test_figures_are_published(asker):
    asker.begin()
    asker.find("lumarelle-optics")
    asker.click("link", "Add figures")
    asker.page.locator("#id_year").fill("1999")
    asker.page.locator("#id_period_type").select_option("YEAR")
    asker.page.locator("#id_revenue_cents").fill("123456")
    asker.press(asker.page.locator("input[name=_save]"))
    asker.sees("was added successfully")
    assert asker.clicks == 3


def test_a_file_with_errors_is_told_line_by_line(asker):
    asker.begin()
    asker.click("link", "Import")
    asker.page.locator("#id_kind").select_option("figures")
    content = b"issuer,year,period_type\nlumarelle-optics,24,YEAR\nnobody,2024,YEAR\n"
    file = {"name": "figures.csv", "mimeType": "text/csv", "buffer": content}
    asker.page.locator("#id_file").set_input_files(file)
    asker.click("button", "Preview")
    asker.sees("2 problems. Nothing was written")
    assert asker.clicks == 2


def test_who_changed_something_is_told_from_its_page(asker, running_server):
    asker.page.goto(asker.admin + "issuers/issuer/")
    slug = asker.page.locator("#result_list .field-slug").last.inner_text()
    line = f"Glass {uuid4()}"
    asker.begin()
    asker.find(slug)
    asker.click("link", "Edit")
    asker.page.locator("#id_tag_line").fill(line)
    asker.press(asker.page.locator("input[name=_save]"))
    asker.begin()
    asker.find(slug)
    asker.click("link", "Change log")
    told = asker.page.locator("ol.log > li", has_text=line).first
    login = running_server["staff"]["login"]
    assert told.locator(f'strong[title="{login}"]').count() == 1
    assert asker.clicks == 2


def test_what_needs_attention_leads_to_it(asker):
    asker.begin()
    asker.page.get_by_role("heading", name="Your work").wait_for()
    tile = asker.page.locator(".queues th a").first
    asker.press(tile)
    asker.page.locator("#result_list, table").first.wait_for()
    assert asker.clicks == 1


def test_an_order_book_is_watched(asker):
    asker.begin()
    asker.click("link", "Markets")
    asker.click("link", "LUMARELLE")
    asker.page.locator("#ladder table").first.wait_for()
    assert asker.clicks == 2


def test_a_holder_is_found_by_lei(asker):
    asker.find("lumarelle-optics")
    [lei] = re.findall("LEI ([A-Z0-9]{20})", asker.page.locator("main").inner_text())
    asker.begin()
    asker.find(lei)
    asker.page.get_by_role("heading", name="Holdings").wait_for()
    assert asker.clicks == 1


def submit(asker, decider):
    """The request is filed, in five clicks at most, and approved."""
    asker.write("Reason", "Resolution of the board")
    asker.click("button", "Submit for approval")
    asker.sees("Submitted. Waiting for a second approver.")
    assert asker.clicks <= 5
    approve_the_latest(decider)


def test_parameters_of_a_market_are_changed_by_two(asker, decider):
    asker.begin()
    asker.find(TOKEN)
    asker.click("link", "Market")
    asker.click("link", "Request other parameters")
    asker.page.locator("#id_most_units").fill("250000")
    submit(asker, decider)
    asker.begin()
    asker.find(TOKEN)
    asker.click("link", "Market")
    asker.sees("250,000 units")


def test_a_tariff_is_set_by_two(asker, decider):
    asker.begin()
    asker.find(TOKEN)
    asker.click("link", "Market")
    asker.click("link", "Request a tariff")
    for name, value in (("maker", "0.1"), ("taker", "0.25"), ("vat", "20")):
        asker.page.locator(f"#id_{name}").fill(value)
    submit(asker, decider)
    asker.begin()
    asker.find(TOKEN)
    asker.click("link", "Market")
    asker.sees("maker 0.1 %, taker 0.25 %; VAT 20 %")


def test_an_offering_is_drafted_and_opened(asker, decider, running_server):
    asker.page.goto(f"{asker.admin}issuers/token/?market_type__exact=PRIMARY_MARKET")
    symbols = asker.page.locator("#result_list .field-symbol").all_inner_texts()
    asker.page.goto(asker.admin + "issuers/offering/")
    sold = asker.page.locator("#result_list .field-token").all_inner_texts()
    symbol = next(one for one in symbols if not any(one in each for each in sold))
    asker.begin()
    asker.find(symbol)
    asker.click("link", "Draft an offering")
    for name, value in (
        ("each", "12.50"), ("units", "5000"), ("minimum", "100"),
        ("opens", "2026-02-01 08:00"), ("closes", "2099-02-15 16:00"),
        ("reason", "The company asks for it"),
    ):  # fmt: skip
        asker.page.locator(f"#id_{name}").fill(value)
    asker.page.locator("#id_source").select_option("MINT")
    asker.click("button", "Draft")
    asker.sees("Drafted the offering")
    asker.click("link", "Request: Opening of an offering")
    submit(asker, decider)


def test_a_drop_copy_is_assigned(asker):
    asker.begin()
    asker.find("observer")
    asker.click("link", "Assign CompIDs")
    asker.page.locator("#id_kind").select_option("drop-copy")
    asker.page.locator("#id_count").fill("1")
    asker.write("Reason", "The partner asks for it")
    asker.click("button", "Assign")
    asker.page.locator("#compids + .wide", has_text="drop copy").wait_for()
    assert asker.clicks == 3


def test_what_a_holder_has_is_proved(asker):
    asker.begin()
    asker.find("lumarelle-optics")
    asker.click("link", "Capitalization table")
    asker.press(asker.page.locator("table").last.locator("tbody th a").first)
    with asker.page.expect_download() as taken:
        asker.click("link", "Statement with proofs (ZIP)")
    assert taken.value.suggested_filename.endswith(".zip")
    assert asker.clicks == 4


def test_webhooks_reports_and_documents_are_read_from_their_partner(asker):
    for name, heading in (
        ("Webhooks", "Webhook endpoints"),
        ("Invoices", "Issued documents"),
    ):
        asker.begin()
        asker.find("observer")
        asker.press(asker.page.locator(".object-tools").get_by_role("link", name=name))
        asker.page.get_by_role("heading", name=heading).wait_for()
        assert asker.clicks == 2
    asker.begin()
    asker.find("observer")
    asker.page.get_by_role("heading", name="Conformance").wait_for()


def test_an_issuers_cash_is_paid_out_by_two(asker, decider):
    asker.page.goto(asker.admin + "issuers/offering/?status__exact=SETTLED")
    asker.page.locator("#result_list tbody th a").first.click()
    asker.page.locator(".object-tools a[href*='/issuer/']").click()
    issuer = asker.page.url
    asker.page.goto(issuer)
    asker.clicks = 0
    asker.click("link", "Request a payout")
    for name, value in (
        ("amount", "12.34"), ("payee", "The company"),
        ("iban", "FR76 3000 6000 0112 3456 7890 189"),
    ):  # fmt: skip
        asker.page.locator(f"#id_{name}").fill(value)
    submit(asker, decider)
    asker.begin()
    asker.click("link", "Approved, awaiting bank payment", exact=False)
    asker.sees("€12.34")

"""Each job of the handbook, done by its role with the handbook alone.

The handbook's page of a job is two clicks from home. The table counts those after it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import psycopg
import pytest

from partnerapi.staff.handbook_jobs import JOBS
from tests.pages.test_browser import PATIENCE_MS, browser
from tests.pages.test_journeys_in_browser import MOST_CLICKS, Walk
from tests.pages.trades import ask, filled_order

__all__ = ["browser"]

PASSWORD = "correct horse battery"
ROW = "#result_list tbody th a"
WHY = "The paper of the board says so"
PARTNER, COMPANY, ELSE = "observer", "lumarelle-optics", "nordhavel-marine"
TOKEN, TRADED, FED = "LUMARELLE", "ROSMARIN", "STEINQUELL"
ACCOUNT = (
    "{ accounts(first: 1, status: ACTIVE) { nodes { id cash { depositReference } } } }"
)
WITHDRAW = """
mutation ($input: RequestWithdrawalInput!) {
  requestWithdrawal(input: $input) { withdrawal { id } } }
"""
ATTEST = """
mutation ($input: AttestInvestorInput!) {
  attestInvestor(input: $input) { account { id } } }
"""


class Staff:
    """One of each role, who may decide at once, and has signed in."""

    def __init__(self, running_system, browser):
        self.server = running_system.described
        self.owner = running_system.variable("DATABASE_OWNER_URL")
        self.browser = browser
        self.walks = {}
        self.emails = {}
        self.root = self.sign_in(
            self.server["staff"]["login"], self.server["staff"]["password"]
        )

    def sign_in(self, login, password):
        page = self.browser.new_context().new_page()
        page.set_default_timeout(PATIENCE_MS)
        return Walk(page, self.server["admin"], login, password)

    def walk(self, role):
        if role not in self.walks:
            self.emails[role] = self.join(role)
            self.walks[role] = self.sign_in(self.emails[role], PASSWORD)
        return self.walks[role]

    def email(self, role):
        self.walk(role)
        return self.emails[role]

    def join(self, role):
        email = f"{uuid4().hex[:12]}@staff.example"
        walk = self.root
        walk.page.goto(walk.admin + "accounts/user/add/")
        walk.page.locator("#id_type").select_option("INDIVIDUAL")
        fill(
            walk, email=email, password1=PASSWORD, password2=PASSWORD,
            first_name=role, last_name="Tester",
        )  # fmt: skip
        walk.click("button", "Save")
        walk.page.locator("#id_is_staff").check()
        walk.page.locator("#id_groups_from").select_option(label=role)
        walk.press(walk.page.locator("#id_groups_add, #id_groups_add_link").first)
        walk.click("button", "Save")
        walk.page.get_by_text("was changed successfully").wait_for()
        with psycopg.connect(self.owner) as owner:
            owner.execute(
                "SELECT accounts_appoint(id) FROM accounts_user WHERE email = %s",
                [email],
            )
        return email

    def read(self, address, text):
        """What a paper says: the text of the first that fits, on another page."""
        self.root.page.goto(self.root.admin + address)
        return self.root.page.locator(text).first.inner_text().strip()

    def approve_latest(self, role):
        walk = self.walk(role)
        walk.begin()
        walk.click("link", "Requests")
        first(walk)
        walk.click("button", "Approve and execute")
        walk.sees("Approved and executed.")


def fill(walk, **said):
    for name, text in said.items():
        walk.page.locator(f"#id_{name}").fill(text)


def go(walk):
    walk.click("link", "Go to the page")


def first(walk):
    walk.press(walk.page.locator(ROW).first)


def submit(walk, **said):
    fill(walk, **said, reason=WHY)
    walk.click("button", "Submit for approval")
    walk.sees("Submitted. Waiting for a second approver.")


def upload(walk, kind, content):
    walk.page.locator("#id_kind").select_option(kind)
    file = {"name": f"{kind}.csv", "mimeType": "text/csv", "buffer": content.encode()}
    walk.page.locator("#id_file").set_input_files(file)
    walk.click("button", "Preview")


def listed(walk, _):
    """The page where the job starts is the answer."""
    go(walk)
    walk.page.locator("main h1").wait_for()


def find(walk, _):
    walk.find("silva")
    walk.page.get_by_role("heading", name="Find: silva").wait_for()


def decide(walk, staff):
    operations = staff.walk("Operations")
    operations.page.goto(operations.admin + "ask/price/")
    fill(operations, token="LUMARELLE-E", price="159")
    submit(operations)
    walk.click("link", "Requests")
    first(walk)
    walk.click("button", "Approve and execute")
    walk.sees("Approved and executed.")


def accounts(walk, _):
    go(walk)
    first(walk)
    for button, status in (("Suspend", "Suspended"), ("Activate", "Active")):
        walk.write("Reason (visible to the partner)", "The client asks for it")
        walk.click("button", button)
        walk.page.locator(".places strong", has_text=status).wait_for()


def open_account(walk, staff):
    email = staff.read("accounts/user/?q=garcia", "#result_list .field-email")
    go(walk)
    fill(walk, partner=PARTNER, client=email, reason=WHY)
    walk.click("button", "Open")
    walk.sees("Opened the account")


def restrict(walk, staff):
    walk.find(staff.read("accounts/user/?q=silva", "#result_list .field-email"))
    walk.click("link", "Compliance")
    walk.page.locator("#id_restrict-kind").select_option("FREEZE")
    walk.page.locator("#id_restrict-reason").fill(WHY)
    walk.press(walk.page.locator("button[value=restrict]"))
    walk.sees(WHY)


def rules(walk, _):
    go(walk)
    walk.page.locator("#id_rule").select_option("MAX_HOLDERS")
    submit(walk, token=TOKEN, says="90000")


def issuers(walk, _):
    walk.find(COMPANY)
    walk.click("link", "Edit")
    fill(walk, tag_line=f"Glass {uuid4()}")
    walk.press(walk.page.locator("input[name=_save]"))
    walk.sees("was changed successfully")


def publish(walk, _):
    walk.find(COMPANY)
    walk.click("link", "Write an article")
    fill(walk, title=f"Results {uuid4()}", body="Sales grew.")
    walk.press(walk.page.locator("input[name=_save]"))
    walk.sees("was added successfully")


def import_file(walk, _):
    go(walk)
    header, year = "issuer,year,period_type,revenue_cents", 1900 + uuid4().int % 90
    upload(walk, "figures", f"{header}\n{COMPANY},{year},YEAR,1\n")
    walk.click("button", "Import", exact=False)
    walk.sees("figures.csv")


def deliver(walk, _):
    go(walk)
    walk.press(walk.page.locator("#content .columns a").first)
    walk.click("button", "Preview: issue new shares")
    walk.write("Reason (visible to the approver)", WHY)
    walk.click("button", "Submit for approval")
    walk.sees("nothing is delivered before it is approved")


def captable(walk, _):
    go(walk)
    first(walk)
    walk.click("link", "Capitalization table")
    walk.sees("The address of this page is a permalink")


def units(walk, staff):
    email = staff.read("accounts/user/?q=garcia", "#result_list .field-email")
    go(walk)
    submit(walk, token=TOKEN, units="1", source="treasury", target=email)


def price(walk, _):
    go(walk)
    submit(walk, token=TOKEN, price="60")


def identity(walk, _):
    walk.find(TRADED)
    walk.click("link", "Change symbol or ISIN")
    # What stays is filled in.
    assert walk.page.locator("#id_isin").input_value()
    submit(walk, symbol="ROSMARINE")


def halt(walk, staff):
    walk.find(TRADED)
    walk.click("link", "Market")
    walk.write("Reason", WHY)
    walk.click("button", "Halt")
    walk.sees("The market is halted.")
    walk.click("link", "Request reopening")
    submit(walk)
    staff.approve_latest("Compliance")


def open_market(walk, _):
    go(walk)
    fill(walk, token=FED, reference_price="10", reason=WHY)
    walk.click("button", "Open")
    walk.sees("Opened the market")


def parameters(walk, _):
    walk.find(TRADED)
    walk.click("link", "Market")
    walk.click("link", "Request other parameters")
    submit(walk, most_units="250000")


def tariffs(walk, _):
    go(walk)
    submit(walk, token=TRADED, maker="0.1", taker="0.2", vat="20")


def stop_orders(walk, _):
    go(walk)
    fill(walk, partner=PARTNER, reason=WHY)
    walk.click("button", "Stop the orders")
    walk.sees("Stopped orders")


def cancel_orders(walk, _):
    go(walk)
    fill(walk, token=TRADED, reason=WHY)
    walk.click("button", "Cancel the orders")
    walk.sees("would be cancelled. Press the button")


def draft_offering(walk, staff):
    page = staff.root.page
    page.goto(f"{walk.admin}issuers/token/?market_type__exact=PRIMARY_MARKET")
    symbols = page.locator("#result_list .field-symbol").all_inner_texts()
    page.goto(walk.admin + "issuers/offering/")
    sold = page.locator("#result_list .field-token").all_inner_texts()
    symbol = [one for one in symbols if not any(one in each for each in sold)][-1]
    walk.find(symbol)
    walk.click("link", "Draft an offering")
    walk.page.locator("#id_source").select_option("MINT")
    fill(
        walk, each="12.50", units="5000", minimum="100", reason=WHY,
        opens="2026-02-01 08:00", closes="2099-02-15 16:00",
    )  # fmt: skip
    walk.click("button", "Draft")
    walk.sees("Drafted the offering")


def offerings(walk, _):
    go(walk)
    walk.press(
        walk.page.locator("#result_list tbody tr", has_text="Open").locator("th a")
    )
    walk.click("link", "Request: Withdrawal of an offering")
    submit(walk)


def bust(walk, staff):
    walk.find(filled_order(staff.server))
    walk.press(walk.page.locator("a[href*='/trade/']").first)
    walk.click("link", "Request trade bust")
    submit(walk)


def orders(walk, staff):
    walk.find(filled_order(staff.server))
    walk.page.get_by_role("heading", name="Activity").wait_for()


def payouts(walk, staff):
    walk.find(staff.read("issuers/offering/?status__exact=SETTLED", ROW).split()[0])
    walk.press(walk.page.locator("dl a[href*='/admin/issuer/']").last)
    walk.click("link", "Request a payout")
    submit(walk, amount="1.23", payee="The company", iban="FR7630006000011234567890189")


def bank(walk, staff):
    books = staff.read("cash/", ".facts dd").strip("€").replace(",", "")
    go(walk)
    fill(walk, closing_balance=f"{float(books) + 0.01:.2f}")
    line = f"{uuid4()},Who knows,1,2027-01-31"
    upload(walk, "bank", f"reference,text,amount,date\n{line}\n")
    walk.click("button", "Import bank statement")
    walk.sees("bank.csv: 1 new")


def receipts(walk, staff):
    [account] = ask(staff.server, ACCOUNT)["accounts"]["nodes"]
    go(walk)
    walk.click("link", "Choose an account", exact=False)
    submit(walk, account=account["cash"]["depositReference"])


def withdrawal(staff):
    """The demo partner requests one."""
    [account] = ask(staff.server, ACCOUNT)["accounts"]["nodes"]
    payee = {"name": "A client", "iban": "DE89370400440532013000"}
    asked = {"accountID": account["id"], "amount": 123, "payee": payee}
    ask(staff.server, WITHDRAW, input=asked | {"reference": uuid4().hex})


def withdrawals(walk, staff):
    withdrawal(staff)
    go(walk)
    first(walk)
    walk.click("link", "Request approval")
    submit(walk)
    staff.approve_latest("Compliance")


def pay(walk, staff):
    withdrawal(staff)
    walk.page.goto(walk.admin + "accounts/withdrawal/?status__exact=REQUESTED")
    first(walk)
    walk.click("link", "Request approval")
    submit(walk)
    staff.approve_latest("Compliance")
    walk.begin()
    walk.click("link", "Approved, awaiting bank payment")
    walk.click("button", "Create the payment file")
    walk.page.locator("#files + .wide").wait_for()
    with walk.page.expect_download() as taken:
        walk.press(walk.page.locator("#files + .wide tbody th a").first)
    assert taken.value.suggested_filename.endswith(".xml")


def investors(walk, staff):
    [account] = ask(staff.server, ACCOUNT)["accounts"]["nodes"]
    said = {
        "accountID": account["id"], "verification": "VERIFIED",
        "countryCode": "FR", "investorClass": "INFORMED",
    }  # fmt: skip
    ask(staff.server, ATTEST, input=said)
    go(walk)
    first(walk)
    walk.click("link", "view on the holder's page")
    walk.page.locator("#id_investor-verification").select_option("VERIFIED")
    walk.page.locator("#id_investor-tax_country").select_option("FR")
    walk.page.locator("#id_investor-investor_class").select_option("INFORMED")
    walk.page.locator("#id_investor-evidence").fill("File 12")
    walk.click("button", "Save investor profile")
    walk.sees("Investor profile saved.")


def keys(walk, _):
    walk.find(PARTNER)
    walk.click("link", "New key")
    walk.press(walk.page.locator("input[name=scopes]").first)
    fill(walk, reason=WHY)
    walk.click("button", "Submit for approval")
    walk.sees("Nothing is issued yet")


def grants(walk, _):
    go(walk)
    submit(walk, partner=PARTNER, issuer=ELSE)


def desks(walk, _):
    go(walk)
    submit(walk, partner=PARTNER, email=f"{uuid4()}@partner.example")


def assign_compids(walk, _):
    go(walk)
    fill(walk, partner=PARTNER, count="1", reason=WHY)
    walk.click("button", "Assign")
    walk.sees("Assigned")


def partner_requests(walk, _):
    walk.find(PARTNER)
    walk.press(walk.page.locator(".object-tools").get_by_role("link", name="Requests"))
    walk.page.get_by_role("heading", name="Requests").first.wait_for()


def webhooks(walk, _):
    walk.find(PARTNER)
    walk.click("link", "Webhooks")
    walk.page.get_by_role("heading", name="Webhook endpoints").wait_for()


def conformance(walk, _):
    walk.find(PARTNER)
    walk.page.get_by_role("heading", name="Conformance").wait_for()


def proofs(walk, _):
    go(walk)
    first(walk)
    with walk.page.expect_download() as taken:
        walk.click("link", "Statement with proofs (ZIP)")
    assert taken.value.suggested_filename.endswith(".zip")


def unlock_sign_in(walk, staff):
    email = staff.email("Support")
    page = staff.browser.new_context().new_page()
    for _ in range(5):
        page.goto(walk.admin)
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.wait_for_load_state()
    page.context.close()
    go(walk)
    fill(walk, login=email, reason=WHY)
    walk.click("button", "Unlock")
    walk.sees("Unlocked the sign-in")


def reset_sign_in(walk, staff):
    go(walk)
    submit(walk, person=staff.email("Support"))


def recovery_codes(walk, _):
    go(walk)
    walk.sees("you sign in with your password alone")


def run_check(walk, _):
    go(walk)
    fill(walk, reason=WHY)
    walk.click("button", "Run")
    walk.sees("Started the job")


def colleagues(walk, _):
    go(walk)
    walk.click("link", "Add user")
    walk.page.locator("#id_type").select_option("INDIVIDUAL")
    fill(
        walk, email=f"{uuid4()}@staff.example", password1=PASSWORD,
        password2=PASSWORD, first_name="New", last_name="Colleague",
    )  # fmt: skip
    walk.click("button", "Save")
    walk.sees("was added successfully")


@dataclass(frozen=True, slots=True)
class Done:
    """By whom, in how many clicks, and how."""

    role: str
    clicks: int
    do: Callable = listed


WALKS = {
    "find": Done("Support", 1, find),
    "accounts": Done("Support", 4, accounts),
    "open-account": Done("Support", 2, open_account),
    "captable": Done("Support", 3, captable),
    "watch-books": Done("Support", 1),
    "orders": Done("Support", 1, orders),
    "documents": Done("Support", 1),
    "partner-requests": Done("Support", 2, partner_requests),
    "webhooks": Done("Support", 2, webhooks),
    "conformance": Done("Support", 1, conformance),
    "proofs": Done("Support", 3, proofs),
    "recovery-codes": Done("Support", 1, recovery_codes),
    "issuers": Done("Operations", 3, issuers),
    "publish": Done("Operations", 3, publish),
    "import": Done("Operations", 3, import_file),
    "deliver": Done("Operations", 4, deliver),
    "units": Done("Operations", 2, units),
    "price": Done("Operations", 2, price),
    "identity": Done("Operations", 3, identity),
    "halt": Done("Operations", 5, halt),
    "open-market": Done("Operations", 2, open_market),
    "parameters": Done("Operations", 4, parameters),
    "tariffs": Done("Operations", 2, tariffs),
    "draft-offering": Done("Operations", 3, draft_offering),
    "offerings": Done("Operations", 4, offerings),
    "cancel-orders": Done("Operations", 2, cancel_orders),
    "stop-orders": Done("Operations", 2, stop_orders),
    "bust": Done("Operations", 4, bust),
    "run-check": Done("Operations", 2, run_check),
    "colleagues": Done("Operations", 3, colleagues),
    "decide": Done("Compliance", 3, decide),
    "investors": Done("Compliance", 4, investors),
    "restrict": Done("Compliance", 3, restrict),
    "rules": Done("Compliance", 2, rules),
    "log": Done("Compliance", 1),
    "payouts": Done("Treasury", 4, payouts),
    "bank": Done("Treasury", 3, bank),
    "receipts": Done("Treasury", 3, receipts),
    "withdrawals": Done("Treasury", 4, withdrawals),
    "pay": Done("Treasury", 3, pay),
    "keys": Done("Key manager", 4, keys),
    "grants": Done("Key manager", 2, grants),
    "desks": Done("Key manager", 2, desks),
    "assign-compids": Done("Key manager", 2, assign_compids),
    "unlock-sign-in": Done("Key manager", 2, unlock_sign_in),
    "reset-sign-in": Done("Key manager", 2, reset_sign_in),
}


@pytest.fixture(scope="module")
def staff(running_system, browser):
    return Staff(running_system, browser)


def test_each_job_of_the_handbook_is_walked():
    assert set(WALKS) == set(JOBS)
    assert all(walk.clicks <= MOST_CLICKS for walk in WALKS.values())


@pytest.mark.parametrize("slug", WALKS)
def test_a_job_is_done_with_the_handbook_alone(staff, slug):
    done = WALKS[slug]
    walk = staff.walk(done.role)
    walk.begin()
    walk.click("link", "Help")
    walk.click("link", JOBS[slug].title)
    assert walk.clicks == 2
    walk.clicks = 0
    done.do(walk, staff)
    assert walk.clicks == done.clicks

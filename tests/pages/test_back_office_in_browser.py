"""The back office in a real browser, under its policy."""

import re
from uuid import uuid4

import pytest
from django.contrib import admin
from django.urls import URLPattern
from django.urls.resolvers import RoutePattern

from partnerapi.staff.approvals.filing import FORMS
from partnerapi.staff.handbook_jobs import JOBS
from partnerapi.staff.work import WORK
from tests.benchmarks import ladder
from tests.pages import handbook, test_browser
from tests.pages.test_browser import PATIENCE_MS, axe, browser, page
from tests.pages.trades import filled_order
from tests.sampling import sample
from tests.waiting import until

__all__ = ["axe", "browser", "page"]


@pytest.fixture
def back_office(page, running_server, cookies_of_staff):
    """A page on which staff of the sandbox have signed in."""
    page.context.add_cookies(cookies_of_staff)
    page.goto(running_server["admin"])
    if not cookies_of_staff:
        staff = running_server["staff"]
        page.get_by_label("Email").fill(staff["login"])
        page.get_by_label("Password").fill(staff["password"])
        page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Back office").wait_for()
    cookies_of_staff[:] = page.context.cookies()
    return page


def test_the_policy_allows_nothing_unsafe(back_office):
    answer = back_office.reload()
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_every_list_and_every_form_opens(back_office, running_server):
    back_office.goto(running_server["admin"] + "data/")
    paths = back_office.locator("#content-main th a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert len(paths) > 15
    opened = 0
    for path in paths:
        back_office.goto(running_server["admin"].replace("/admin/", path))
        links = back_office.locator("#result_list tbody th a, .object-tools a.addlink")
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


PAGES = [
    "",
    "find/?q=silva",
    "find/?q=nothing",
    "accounts/accountstatuschange/",
    "accounts/apikey/",
    "issuers/issuer/",
    "issuers/legacyshareholder/?status__exact=PENDING",
    "issuers/article/add/",
    "auth/group/add/",
    "password_change/",
    "recovery-codes/",
    "ask/sign_in/",
    "import/",
    "accounts/approvalrequest/?status=ALL",
    "ask/forced_transfer/",
    "ask/key/",
    "ask/rule/",
    "issuers/restriction/",
    "ask/assignment/",
    "accounts/withdrawal/",
    "accounts/cashaccount/",
    "accounts/bankline/?state=SUSPENSE",
    "accounts/bankstatement/",
    "log/",
    "roles/",
    "books/",
    "cash/",
    "data/",
    "payments/",
    "help/",
    "help/pay/",
    "help/role/treasury/",
    "do/open-market/",
    "receipts/",
    "accounts/houseaccount/add/",
    "trading/market/",
    "trading/order/",
    "ask/bust/",
    "ask/reopen/",
    "delivery/",
    "delivery/?issuer=lumarelle-optics&status=ANY",
    "deliveries/",
]
"""One for each of Django's templates, and those of the back office's own."""
ALIKE = sorted(
    {
        *(f"{m._meta.app_label}/{m._meta.model_name}/" for m in admin.site._registry),
        *(f"ask/{kind.lower()}/" for kind in FORMS),
        *(f"do/{name}/" for name in WORK),
        *(f"help/{slug}/" for slug in JOBS),
    }
    - {*PAGES}
)
"""Every other list, request, piece of work and page of the handbook."""
LEFT_OUT = {
    "login/": "signing in reads it", "logout/": "signing out reads it",
    "password_change/done/": "it follows password_change/",
    "second-factor/": "signing in reads it",
    "approve/": "it follows the choice of requests; test_passkeys_in_browser",
    "passkeys/": "it sends an IP address to localhost; test_passkeys_in_browser",
    "keys/revoke/": "it follows the choice of keys",
    "import/preview/": "it follows import/",
    "delivery/confirm/": "it follows delivery/",
    "waiting/": "a part of the home page", "books/rows/": "a part of books/",
    "autocomplete/": "JSON", "jsi18n/": "JavaScript",
}  # fmt: skip
CUT_OFF = """
[...document.querySelectorAll(".results, .wide")]
    .filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.className)
"""
TOO_WIDE = """
[...document.forms].flatMap((form) => [...form.elements].filter((field) =>
    !field.closest(".results, .wide, .inline-group")
    && field.getBoundingClientRect().right > form.getBoundingClientRect().right + 1
)).map((field) => field.name || field.outerHTML)
"""


MOUSE_ONLY = """
[...document.querySelectorAll("body *")].filter((one) =>
    one.checkVisibility() && getComputedStyle(one).cursor === "pointer"
    && !one.closest("a[href], button, input, select, textarea, label, summary, option")
    && !one.closest("[tabindex]")
).map((one) => one.outerHTML.slice(0, 200))
"""
"""What invites a click, and no key reaches."""
OVERLAPPING = """
[...document.querySelectorAll(".times, .flags")].flatMap((axis) => {
  const boxes = [...axis.children].map((label) => label.getBoundingClientRect());
  return boxes.slice(1).flatMap((box, at) =>
      box.left < boxes[at].right + 2 ? [axis.children[at + 1].textContent] : []);
})
"""
"""Labels of a chart's time, or of its marks, that touch the one before."""
JUMPS = "[...document.querySelectorAll('[tabindex]')].filter((e) => e.tabIndex > 0)"
"""What has the focus before what stands before it."""


def test_every_address_is_read_or_left_out_for_a_reason():
    routes = [u.pattern for u in admin.site.get_urls() if isinstance(u, URLPattern)]
    fixed = {str(r) for r in routes if isinstance(r, RoutePattern) and not r.converters}
    read = {path.partition("?")[0] for path in PAGES}
    assert fixed - read == {*LEFT_OUT}, "name it in PAGES, or in LEFT_OUT with a reason"


def own_pages(page, address, order):
    """Pages of single rows, reached as staff reach them; the order has traded."""
    page.goto(f"{address}order/{order}/")
    page.locator("a[href*='/trade/']").first.click()
    page.get_by_role("heading", name="Settlement").wait_for()
    yield page.url
    page.goto(address + "issuers/article/")
    page.locator("#result_list tbody th a").first.click()
    yield (article := page.url)
    for name in ("History", "Delete"):
        page.goto(article)
        page.get_by_role("link", name=name, exact=True).click()
        yield page.url
    page.goto(address + "find/?q=lumarelle-optics")
    yield page.url
    page.get_by_role("link", name="Capitalization table").click()
    page.wait_for_url("**/captable/?at=*")
    yield page.url
    page.get_by_role("link", name="LUMARELLE", exact=True).first.click()
    yield page.url
    yield page.url.split("?")[0].replace("/ledger/", "/book/")
    page.goto(address + "find/?q=lumarelle-optics")
    page.get_by_role("link", name="Capitalization table").click()
    page.locator("table").last.locator("tbody th a").first.click()
    page.get_by_role("heading", name="Holdings").wait_for()
    yield page.url
    page.get_by_role("link", name="Compliance", exact=True).click()
    page.get_by_role("heading", name="Restrictions").wait_for()
    yield page.url
    page.goto(address + "accounts/account/?status__exact=ACTIVE")
    page.locator("#result_list tbody th a").first.click()
    yield page.url
    page.goto(address + "trading/market/")
    page.locator("#result_list tbody th a").first.click()
    page.get_by_role("heading", name="Phases").wait_for()
    yield page.url
    page.goto(address + "trading/market/?q=GRACHTENLAB")
    page.locator("#result_list tbody th a").first.click()
    # Its first session begins a minute after its making.
    until(lambda: page.reload() and page.locator("a[href*='/auction/']").count())
    page.locator("a[href*='/auction/']").first.click()
    page.get_by_role("heading", name="Auction of").wait_for()
    yield page.url
    page.goto(address + "trading/order/")
    page.locator("#result_list tbody th a").first.click()
    page.get_by_role("heading", name="Activity").wait_for()
    yield page.url
    page.goto(address + "find/?q=observer")
    yield (partner := page.url)
    for name in ("Requests", "New key", "Revoke", "End the grant"):
        page.goto(partner)
        page.locator("main").get_by_role("link", name=name).first.click()
        yield page.url


@pytest.fixture
def readable(back_office, axe):
    """A page whose policy lets axe try styles; and what is wrong with what it shows."""
    # Else the page would be blamed for what the policy refuses to axe.
    page = back_office.context.browser.new_page(
        bypass_csp=True, storage_state=back_office.context.storage_state()
    )
    page.set_default_timeout(PATIENCE_MS)

    def faults():
        """Wider than its window, cuts a column off, or axe complains of it."""
        page.set_viewport_size({"width": 1280, "height": 900})
        if page.evaluate(CUT_OFF):
            yield page.url, "cuts a column off"
        yield from test_browser.faults(page, axe)
        for name in page.evaluate(TOO_WIDE):
            yield page.url, name, "is wider than its form"
        page.set_viewport_size({"width": 390, "height": 844})
        for label in page.evaluate(OVERLAPPING):
            yield page.url, label, "touches the label before"
        for control in page.evaluate(MOUSE_ONLY):
            yield page.url, control, "needs a mouse"
        if page.evaluate(f"{JUMPS}.length"):
            yield page.url, "the focus leaves the order of the page"

    yield page, faults
    page.close()


def test_everybody_can_read_it_on_every_window(readable, running_server):
    address = running_server["admin"]
    page, faults = readable
    found = []
    singles = own_pages(page, address, filled_order(running_server))
    for path in [*(address + path for path in (*PAGES, *ALIKE)), *singles]:
        assert page.goto(path).ok, path
        found += faults()
    assert found == []


def test_everybody_can_read_a_sample_on_every_window(readable, running_server):
    address = running_server["admin"]
    page, faults = readable
    found = []
    for path in sample([*PAGES, *ALIKE], 4, "back office"):
        assert page.goto(address + path).ok, path
        found += faults()
    singles = [*own_pages(page, address, filled_order(running_server))]
    for path in sample(singles, 2, "pages of single rows"):
        assert page.goto(path).ok, path
        found += faults()
    assert found == []


BROKEN = r"""
() => {
  const found = [], word = /[−€]?\d[\d,.]*%?|[\p{L}][\p{L}\d.’']+/gu;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    if (!parent.checkVisibility()) continue;
    if (parent.closest("script, option, select, textarea")) continue;
    for (const match of node.data.matchAll(word)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width);
      const lines = new Set(boxes.map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(match[0]);
    }
  }
  return found;
}
"""
NAMES = [
    "W" * 200, "Société Générale des Eaux " * 7, "Zoë \u202eevil Test",
    "شركة الاستثمار 2027 (ش.م.م)", "חברת ההשקעות " * 15,
]  # fmt: skip
OF_MANY_COLUMNS = [
    "accounts/account/",
    "accounts/user/",
    "accounts/accountstatuschange/",
    "accounts/approvalrequest/?status=ALL",
    "issuers/token/",
    "issuers/issuer/",
    "trading/order/",
]


def test_no_word_and_no_number_breaks_whatever_clients_are_called(
    back_office, running_server
):
    address = running_server["admin"]
    for name in NAMES:
        back_office.goto(address + "accounts/user/add/")
        back_office.locator("#id_type").select_option("COMPANY")
        back_office.locator("#id_email").fill(f"{uuid4()}@example.com")
        for number in (1, 2):
            back_office.locator(f"#id_password{number}").fill("correct horse battery")
        back_office.locator("#id_company_name").fill(name.strip())
        back_office.get_by_role("button", name="Save", exact=True).click()
        back_office.get_by_text("was added successfully").wait_for()
    back_office.set_viewport_size({"width": 1280, "height": 900})
    found = {}
    for path in OF_MANY_COLUMNS:
        back_office.goto(address + path)
        found[path] = back_office.evaluate(BROKEN)
        assert back_office.evaluate(CUT_OFF) == [], path
    assert found == dict.fromkeys(OF_MANY_COLUMNS, [])
    back_office.goto(address + "accounts/user/")
    shown = back_office.locator("#result_list").inner_text()
    assert "Zoë evil Test" in shown
    cut = back_office.locator(f"#result_list [title='{'W' * 200}']").first
    assert cut.bounding_box()["width"] < 400


def test_a_name_is_shown_as_written_and_moves_nothing(back_office, running_server):
    """On the pages of its own, and beside what others are called."""
    address = running_server["admin"]
    for name in (one.strip() for one in NAMES):
        shown = name.replace("\u202e", "")
        back_office.goto(address + "accounts/user/add/")
        back_office.locator("#id_type").select_option("COMPANY")
        email = f"{uuid4()}@example.com"
        back_office.locator("#id_email").fill(email)
        for number in (1, 2):
            back_office.locator(f"#id_password{number}").fill("correct horse battery")
        back_office.locator("#id_company_name").fill(name)
        back_office.get_by_role("button", name="Save", exact=True).click()
        back_office.get_by_text("was added successfully").wait_for()
        for width in (1280, 390):
            back_office.set_viewport_size({"width": width, "height": 900})
            back_office.goto(f"{address}find/?q={email}")
            heading = back_office.get_by_role("heading", level=1)
            assert heading.text_content().strip() == shown
            wide = back_office.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, name
            box = heading.bounding_box()
            assert box["x"] + box["width"] <= width, name
        back_office.set_viewport_size({"width": 1280, "height": 900})
        back_office.goto(f"{address}accounts/user/?q={email}")
        cell = back_office.locator("#result_list .field-display_name")
        assert cell.text_content().strip() == shown
        is_long = len(shown) > 20 or not shown.isascii() and "Zoë" not in shown
        assert cell.get_attribute("title") == (shown if is_long else None)
        # What stands beside it stands where it stands beside others.
        assert (
            back_office.locator("#result_list td.field-email").text_content() == email
        )
    back_office.goto(address + "accounts/user/")
    at = {
        tuple(cells)
        for cells in back_office.locator("#result_list tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map("
            "cell => Math.round(cell.getBoundingClientRect().left)))"
        )
    }
    assert len(at) == 1
    assert back_office.evaluate(BROKEN) == []
    assert back_office.evaluate(CUT_OFF) == []


def test_an_issuers_name_is_shown_as_written_and_moves_nothing(
    back_office, running_server
):
    address = running_server["admin"]
    back_office.goto(address + "issuers/token/")
    token = back_office.locator("#result_list tbody th a").first.inner_text()
    back_office.goto(f"{address}find/?q={token}")
    back_office.locator("main a[href*='/admin/issuer/']").first.click()
    own = back_office.url.split("captable")[0]
    back_office.goto(own)
    before = back_office.get_by_role("heading", level=1).inner_text()
    for name in [*(one.strip() for one in NAMES), before]:
        back_office.set_viewport_size({"width": 1280, "height": 900})
        back_office.goto(own)
        back_office.get_by_role("link", name="Edit", exact=True).click()
        back_office.locator("#id_trading_name").fill(name)
        back_office.get_by_role("button", name="Save", exact=True).click()
        back_office.get_by_text("was changed successfully").wait_for()
        shown = name.replace("\u202e", "")
        for width in (1280, 390):
            back_office.set_viewport_size({"width": width, "height": 900})
            for path in (own, f"{address}find/?q={token}", address + "issuers/issuer/"):
                back_office.goto(path)
                wide = back_office.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, (name, path)
                # On a narrow screen, no line holds a digest, or 200 letters.
                broken = [w for w in back_office.evaluate(BROKEN) if len(w) < 60]
                assert broken == [], (name, path)
            back_office.goto(own)
            heading = back_office.get_by_role("heading", level=1)
            assert heading.text_content().strip() == shown
        back_office.set_viewport_size({"width": 1280, "height": 900})
        back_office.goto(address + "issuers/issuer/")
        assert back_office.evaluate(CUT_OFF) == [], name
        at = back_office.locator("#result_list tbody tr").evaluate_all(
            "rows => rows.map(row => [...row.cells].map("
            "cell => Math.round(cell.getBoundingClientRect().left)).join())"
        )
        assert len({*at}) == 1, name


PRESSED = """
[...document.querySelectorAll("button, input:not([type=hidden]), select, nav, header,"
    + "form label, .actions, #changelist-search")]
    .filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120))
"""
SIZES = """
[...new Set([...document.querySelectorAll("#result_list tbody :is(td, th, td *, th a)")]
    .filter((one) => one.checkVisibility() && one.innerText.trim())
    .map((one) => getComputedStyle(one).fontSize))]
"""
PRINTED = [
    "", "accounts/account/", "accounts/user/", "issuers/legacyshareholder/",
    "trading/order/", "books/", "cash/", "log/", "payments/", "receipts/", "roles/",
    "help/pay/",
]  # fmt: skip
PAPER = {"list": 1040, "page": 710}
"""Pixels between the margins of A4, across for lists."""


def test_paper_has_the_facts_alone_and_all_of_them(back_office, running_server):
    address = running_server["admin"]
    singles = [*own_pages(back_office, address, filled_order(running_server))]
    found = []
    for path in [*(address + path for path in PRINTED), *singles]:
        back_office.emulate_media(media="screen")
        back_office.goto(path)
        is_list = back_office.evaluate("document.body.matches('.change-list')")
        width = PAPER["list" if is_list else "page"]
        back_office.set_viewport_size({"width": width, "height": 1000})
        back_office.emulate_media(media="print")
        found += [(path, control) for control in back_office.evaluate(PRESSED)]
        wide = back_office.evaluate("document.documentElement.scrollWidth")
        found += [(path, wide)] * (wide > width)
        sizes = back_office.evaluate(SIZES)
        found += [(path, sizes)] * (is_list and len(sizes) != 1)
    assert found == []


def test_the_log_has_a_table_that_was_printed(back_office, running_server):
    address = running_server["admin"]
    back_office.goto(address + "issuers/issuer/")
    back_office.locator("#result_list tbody th a").first.click()
    back_office.get_by_role("link", name="Capitalization table").first.click()
    back_office.get_by_text("The address of this page is a permalink").wait_for()
    with back_office.expect_response(back_office.url) as answered:
        assert back_office.pdf()
    assert (answered.value.request.method, answered.value.status) == ("POST", 204)
    back_office.goto(address + "log/")
    line = back_office.locator("ol.log > li").first
    assert "printed" in line.inner_text()
    line.locator("summary").press("Enter")
    line.get_by_text("format: print").wait_for()


def test_a_line_of_the_log_opens_with_the_keyboard(readable, running_server):
    page, faults = readable
    page.goto(running_server["admin"] + "log/")
    line = page.locator("ol.log > li", has_text="register entries").first
    line.locator("summary").press("Enter")
    line.get_by_role("columnheader", name="Before").wait_for()
    found = [*faults()]
    page.get_by_role("link", name="Older", exact=True).press("Enter")
    page.get_by_role("link", name="Newest").wait_for()
    page.get_by_label("Kind").select_option("Sign-ins")
    page.get_by_role("button", name="Show").press("Enter")
    page.locator("ol.log > li", has_text="signed in from").first.wait_for()
    assert found + [*faults()] == []


def test_pictures_of_the_handbook_can_be_taken(back_office, running_server):
    jobs = sample([*JOBS.values()], 3, "pictures of the handbook")
    taken = dict(handbook.pictures(back_office, running_server["admin"], jobs))
    assert [*taken] == [job.slug for job in jobs]
    assert max(map(len, taken.values())) < handbook.MOST_BYTES


def test_everybody_can_read_the_door(browser, running_server, axe):
    page = browser.new_page(bypass_csp=True)
    page.set_default_timeout(PATIENCE_MS)
    try:
        page.goto(running_server["admin"])
        found = [*test_browser.faults(page, axe)]
        page.get_by_label("Email").fill(f"{uuid4()}@nobody.example")
        page.get_by_label("Password").fill("wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("Please enter the correct").wait_for()
        found += test_browser.faults(page, axe)
    finally:
        page.close()
    assert found == []


def test_staff_see_what_a_delivery_would_do_and_ask_for_it(readable, running_server):
    """Booking it needs a second person, so that nothing is delivered in the sandbox."""
    page, faults = readable
    page.goto(running_server["admin"])
    page.get_by_role("link", name="Deliver", exact=True).click()
    page.locator("#content .columns a").first.click()
    page.get_by_role("button", name="Preview: deliver from treasury").click()
    page.get_by_role("heading", name="Confirm the delivery").wait_for()
    found = [*faults()]
    page.get_by_role("link", name="Cancel").or_(
        page.get_by_role("link", name="Choose other lines")
    ).first.click()
    page.get_by_role("button", name="Preview: issue new shares").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Reason (visible to the approver)").fill("The list of March")
    page.get_by_role("button", name="Submit for approval").click()
    page.get_by_text("nothing is delivered before it is approved").wait_for()
    found += faults()
    page.get_by_role("link", name="Refused lines only").click()
    page.get_by_text("No line was refused so far").wait_for()
    page.get_by_role("button", name="Cancel the remaining lines").click()
    page.get_by_text("remain undelivered").wait_for()
    assert found == []


def test_staff_find_a_table_with_the_keyboard(back_office):
    for _ in range(4):
        back_office.keyboard.press("Tab")
    assert back_office.evaluate("document.activeElement.id") == "find"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert back_office.evaluate(outline) == "solid"
    back_office.keyboard.type("lumarelle-optics")
    back_office.keyboard.press("Enter")
    back_office.get_by_role("heading", name="Lumarelle Optics", level=1).wait_for()
    back_office.get_by_role("link", name="Capitalization table").focus()
    back_office.keyboard.press("Enter")
    back_office.wait_for_url("**/captable/?at=*")
    back_office.get_by_role("heading", name="Holders", exact=True).wait_for()


def test_staff_suspend_an_account_and_activate_it_with_the_keyboard(
    back_office, running_server
):
    back_office.goto(running_server["admin"] + "find/?q=observer")
    back_office.get_by_role("link", name="Accounts", exact=True).click()
    back_office.wait_for_url("**/account/?partner*")
    back_office.goto(back_office.url + "&status__exact=ACTIVE")
    back_office.locator("#result_list tbody th a").first.click()
    for verb, status in (("Suspend", "Suspended"), ("Activate", "Active")):
        back_office.get_by_label("Reason (visible to the partner)").focus()
        back_office.keyboard.type(f"{verb} by keyboard")
        back_office.keyboard.press("Tab")
        back_office.get_by_role("button", name=verb).press("Enter")
        back_office.locator(".places strong", has_text=status).wait_for()
    assert back_office.get_by_text("Suspend by keyboard").count() == 1


def test_a_key_is_asked_for_and_what_a_revocation_ends_is_told_first(
    back_office, running_server
):
    back_office.goto(running_server["admin"] + "find/?q=observer")
    back_office.get_by_role("heading", name="API keys").wait_for()
    back_office.get_by_role("link", name="Revoke").first.click()
    back_office.get_by_role("columnheader", name="Last use, UTC").wait_for()
    back_office.get_by_role("link", name="Go back").click()
    back_office.get_by_role("link", name="Rotate").first.click()
    back_office.get_by_label("Reason").fill("A year is over")
    back_office.get_by_role("button", name="Submit for approval").click()
    back_office.get_by_text("Nothing is issued yet").wait_for()


def test_a_ladder_follows_its_book_and_says_when_it_can_not(
    back_office, running_server
):
    back_office.goto(running_server["admin"] + "books/")
    back_office.get_by_role("link", name="LUMARELLE", exact=True).click()
    back_office.get_by_role("heading", name="Order book of LUMARELLE").wait_for()
    shown, down = back_office.locator("#ladder"), back_office.locator("#down")
    first = shown.locator(".quiet").inner_text().split(", ")[0]
    has_moved = """
    (first) => !document.querySelector("#ladder .quiet").innerText.startsWith(first)
    """
    back_office.wait_for_function(has_moved, arg=first)
    assert not down.is_visible()
    page = back_office.context.browser.new_page(
        storage_state=back_office.context.storage_state()
    )
    try:
        page.goto(back_office.url)
        page.context.set_offline(True)
        page.locator("#down").wait_for(state="visible", timeout=PATIENCE_MS)
        page.context.set_offline(False)
        page.locator("#down").wait_for(state="hidden", timeout=PATIENCE_MS)
    finally:
        page.close()


def test_each_ladder_that_is_shown_is_the_books_of_the_log(back_office, running_system):
    ladder.watch(back_office, running_system.described["admin"], "LUMARELLE")
    several = "() => new Set(shown.map((one) => one.sequence)).size > 3"
    back_office.wait_for_function(several)
    database = running_system.variable("DATABASE_URL")
    found = ladder.compare(back_office, database, "LUMARELLE")
    assert found.ladders > 3
    assert found.others == []


def test_a_file_is_looked_through(readable, running_server):
    page, faults = readable
    page.goto(running_server["admin"])
    page.get_by_role("link", name="Import", exact=True).click()
    page.get_by_label("Type of file").select_option("figures")
    content = b"issuer,year,period_type,revenue_cents\nlumarelle-optics,24,YEAR,1\n"
    file = {"name": "figures.csv", "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File:", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("write four digits").wait_for()
    assert [*faults()] == []
    page.get_by_role("link", name="Upload another file").click()
    page.get_by_label("Type of file").select_option("bank")
    page.get_by_label("The bank's closing balance").fill("0.5")
    content = f"reference,text,amount,date\n{uuid4()},Who knows,1,2027-01-31\n".encode()
    file = {"name": "bank.csv", "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File:", exact=True).set_input_files(file)
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("the bank states €0.50").wait_for()
    assert [*faults()] == []

"""GraphiQL and the pages in a real browser against the real system."""

import re
import shutil
from itertools import product
from urllib.parse import urlsplit

import pytest

from partnerapi.site import docs
from tests.packages import npm_packages
from tests.sampling import sample
from tests.waiting import PATIENCE_SECONDS

PATIENCE_MS = PATIENCE_SECONDS * 1000
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def launch(playwright):
    """
    Raises:
        LookupError: there is no browser; how to get one.
    """
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise LookupError(
            f"no browser: put one of {', '.join(NAMES)} on PATH, "
            "such as with `apt install chromium`"
        )
    return playwright.chromium.launch(
        executable_path=found, args=ARGUMENTS, timeout=PATIENCE_MS
    )


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        try:
            launched = launch(playwright)
        except LookupError as error:
            pytest.skip(str(error))
        yield launched
        launched.close()


@pytest.fixture
def page(browser, running_server):
    """A fresh page that must ask this host only and have nothing to complain about."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE_MS)
    hosts, complaints = set(), []
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type == "error" else None
        ),
    )
    yield page
    page.close()
    assert hosts - {""} == {urlsplit(running_server["graphiql"]).netloc}
    assert complaints == []


def wait_until_stored(page, name, text):
    """GraphiQL stores its state half a second after it changed."""
    page.wait_for_function(
        "([name, text]) => localStorage.getItem(name)?.includes(text)",
        arg=[f"partner-api:graphiql:{name}", text],
    )


def test_runs_the_first_example_with_the_prefilled_key(page, running_server):
    page.goto(running_server["graphiql"])
    page.get_by_label("Execute query").click()

    answer = page.locator(".result-window")
    answer.get_by_text('"financialData"').first.wait_for()
    assert "Almendra Solar" in answer.inner_text()
    assert "errors" not in answer.inner_text()


def test_opens_an_example_in_a_tab_of_its_own_and_keeps_it(page, running_server):
    page.goto(running_server["graphiql"])
    wait_until_stored(page, "tabState", "IssuersWithFinancialData")
    page.get_by_text("Examples", exact=True).click()
    page.get_by_role("link", name="Page by page").click()
    tabs = page.locator(".graphiql-tab")
    tabs.nth(1).wait_for()
    assert tabs.all_inner_texts() == ["IssuersWithFinancialData", "PageByPage"]

    page.get_by_label("Execute query").click()
    page.locator(".result-window").get_by_text('"cursor"').first.wait_for()
    wait_until_stored(page, "tabState", "PageByPage")
    page.reload()
    tabs.nth(1).wait_for()
    assert tabs.all_inner_texts() == ["IssuersWithFinancialData", "PageByPage"]


def test_stores_no_key_in_the_browser(page, running_server):
    page.goto(running_server["graphiql"])
    page.get_by_label("Execute query").click()
    page.locator(".result-window").get_by_text('"financialData"').first.wait_for()
    wait_until_stored(page, "tabState", "IssuersWithFinancialData")
    wait_until_stored(page, "queries", "IssuersWithFinancialData")

    stored = page.evaluate("JSON.stringify(Object.entries(localStorage))")
    assert running_server["key"] not in stored

    page.reload()
    page.get_by_label("Show History").click()
    page.get_by_role("button", name="IssuersWithFinancialData").first.click()
    page.locator(".graphiql-editor-tool").get_by_text(running_server["key"]).wait_for()


def test_dialogs_and_the_documentation_open_under_the_policy(page, running_server):
    page.goto(running_server["graphiql"])
    page.get_by_label("Open settings dialog").click()
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.get_by_label("Show Documentation Explorer").click()
    page.get_by_text("All Schema Types").wait_for()


def test_a_mutation_opens_with_a_key_of_its_own(page, running_server):
    page.goto(f"{running_server['graphiql']}?example=suspend-an-account")
    headers = page.locator(".graphiql-editor-tool")
    headers.get_by_text("Idempotency-Key").wait_for()
    assert re.search(r'"Idempotency-Key": "[0-9a-f-]{36}"', headers.inner_text())
    page.get_by_label("Execute query").click()
    answer = page.locator(".result-window")
    answer.get_by_text('"updateAccountStatus"').wait_for()
    assert "IDEMPOTENCY_KEY" not in answer.inner_text()


def test_the_editors_have_names(page, running_server):
    page.goto(f"{running_server['graphiql']}?example=page-by-page")
    page.get_by_label("Execute query").click()
    page.locator(".result-window").get_by_text('"cursor"').first.wait_for()
    areas = page.locator(".CodeMirror textarea")
    names = [area.get_attribute("aria-label") for area in areas.all()]
    assert names == ["Operation", "Variables", "Headers", "Answer"]


def test_copies_a_block(page, running_server):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address(running_server, "/docs/guide"))
    block = page.locator(".copyable").nth(1)
    block.hover()
    block.get_by_role("button", name="Copy").click()
    block.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == block.locator("pre").inner_text().rstrip()
    assert copied.startswith("curl -s $API")


def test_finds_members_codes_and_sections(page, running_server):
    page.goto(address(running_server, "/docs"))
    page.keyboard.press("/")
    page.keyboard.type("THROTTLED")
    links = page.locator("#found a")
    links.first.wait_for()
    assert links.first.get_attribute("href") == "/docs/schema/error.THROTTLED"
    page.get_by_label("Search the documents").fill("viewergrant")
    page.locator("#found a[href$='#Issuer.viewerGrant']").wait_for()
    page.get_by_label("Search the documents").fill("qwertz zyxwvut")
    page.get_by_text("Nothing found").wait_for()
    page.get_by_label("Search the documents").fill("retries")
    page.locator("#found a[href='/docs/guide#retries']").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/guide#retries")


def test_an_old_anchor_leads_to_the_page_of_today(page, running_server):
    for old, new in (
        ("Issuer.slug", "Issuer#Issuer.slug"),
        ("error.THROTTLED", "error.THROTTLED"),
        ("Query.issuers.first", "Query.issuers#Query.issuers.first"),
    ):
        page.goto(address(running_server, f"/docs/schema#{old}"))
        page.wait_for_url(f"**/docs/schema/{new}")


PATHS = [
    "/",
    "/docs",
    *(f"/docs/{name}" for name in (*docs.FOR_PARTNERS, *docs.FOR_OPERATORS)),
    "/docs/schema",
    "/docs/schema/Issuer",
    "/docs/schema/Mutation.placeOrder",
    "/docs/schema/error.THROTTLED",
    "/docs/clients",
    "/docs/fix",
    "/graphiql",
]


WIDTHS = 1280, 390
# A list has a row for each object, all by one template: some tell.
ALIKE = ["tr:nth-of-type(n + 15)"]
# A page in the dark has other colours, and nothing else.
AXE_RUN = """([alike, scheme]) => axe.run(
    { exclude: alike },
    {
        resultTypes: ["violations"],
        ...(scheme == "dark" && {
            runOnly: ["color-contrast", "link-in-text-block"],
        }),
    }
)"""


def address(running_server: dict, path: str) -> str:
    return running_server["graphiql"].replace("/graphiql", path)


@pytest.fixture(scope="module")
def axe() -> str:
    """The program that finds what assistive technology cannot use."""
    package = npm_packages("axe-core@4.14.1") / "node_modules" / "axe-core"
    return (package / "axe.min.js").read_text()


def faults(page, axe):
    """Wider than its window, or axe complains, bright or dark; of minor faults not."""
    page.evaluate(axe)
    for width, scheme in product(WIDTHS, ("light", "dark")):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            yield page.url, width, "is wider than its window"
        for found in page.evaluate(AXE_RUN, [ALIKE, scheme])["violations"]:
            if found["impact"] != "minor":
                for node in found["nodes"]:
                    told = found["id"], node["target"], node["failureSummary"]
                    yield page.url, width, scheme, *told


@pytest.mark.parametrize("path", PATHS)
def test_everybody_can_read_it_on_every_window(page, running_server, axe, path):
    page.goto(address(running_server, path))
    page.wait_for_load_state("networkidle")
    assert [*faults(page, axe)] == []


def test_everybody_can_read_a_sample_on_every_window(page, running_server, axe):
    for path in sample(PATHS, 3, "pages"):
        test_everybody_can_read_it_on_every_window(page, running_server, axe, path)


def test_everybody_can_read_that_a_page_is_not_there(browser, running_server, axe):
    # Not the fixture's page: a browser complains of an answer like this one.
    page = browser.new_page(bypass_csp=True)
    try:
        assert page.goto(address(running_server, "/docs/nothing")).status == 404
        assert [*faults(page, axe)] == []
    finally:
        page.close()

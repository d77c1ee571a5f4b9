"""Questions of a new partner, typed into the search of the documents."""

import re

from tests.pages.test_browser import browser, page

__all__ = ["browser", "page"]

FIRST = 3
"""Among so many places the answer stands."""
QUESTIONS = {
    "rss": r"/docs/(guide#changelog|changelog)",
    "candles": r"/docs/schema/Token#Token.days",
    "dividend": r"/docs/guide#trading",
    "how do I page": r"/docs/guide#the-first-page",
    "pagination": r"/docs/guide#the-first-page",
    "is my order filled": r"/docs/(guide#trading|trading|tasks#follow-an-order)",
    "how do I place an order": r"/docs/(guide#tr|trading|first-trade#place-an-o)",
    "cancel all my orders": r"/docs/(guide#trading|trading#stop-at-once)",
    "what does 422 mean": r"/docs/(guide#errors|errors|guide#retries)",
    "how do I retry": r"/docs/guide#retries",
    "what is an idempotency key": r"/docs/guide#retries",
    "rate limit": r"/docs/(limits|guide#what-a-request-costs)",
    "how much does a request cost": r"/docs/(guide#what-a-req|limits#cost-of-a-req)",
    "throttled": r"/docs/(limits|errors|guide#errors|schema/error.THROTTLED)",
    "what is a grant": r"/docs/scopes#grants",
    "which scopes do I need": r"/docs/(scopes|guide#keys-and-scopes)",
    "where do I get an API key": r"/docs/(guide#keys-and-scopes|scopes#keys)",
    "how do I follow events": r"/docs/guide#events",
    "webhook": r"/docs/guide#events",
    "export all holders": r"/docs/exports",
    "deprecated fields": r"/docs/(deprecations|guide#versions)",
    "how do I log on with FIX": r"/docs/fix",
    "prove that no entry was changed": r"/docs/proof",
    "when does the schema change": r"/docs/(guide#versions|changelog|deprecations)",
    "placeOrder": r"/docs/schema/Mutation.placeOrder",
    "sandboxDeposit": r"/docs/schema/Mutation.sandboxDeposit",
    "rotate a key": r"/docs/tasks#rotate-a-key",
    "reconcile trades with cash": r"/docs/tasks#reconcile-a-day",
}


def first_places(page, question: str) -> list[str]:
    page.fill("form.search input", "")
    page.locator("#found").wait_for(state="hidden")
    page.fill("form.search input", question)
    page.locator("#found").wait_for()
    links = page.locator("#found a").all()
    return [link.get_attribute("href") for link in links[:FIRST]]


def test_the_answer_is_among_the_first(page, running_server):
    page.goto(running_server["graphql"].replace("/graphql", "/docs"))
    found = {question: first_places(page, question) for question in QUESTIONS}
    missed = {
        question: addresses
        for question, addresses in found.items()
        if not any(re.match(QUESTIONS[question], address) for address in addresses)
    }
    assert missed == {}

"""Every bulk action of the back office: who may do it, and that a test tries it."""

import inspect
import re
from pathlib import Path

import pytest
from django.contrib import admin

OURS = ("partnerapi", "accounts", "issuers", "marketdata")


def written(page):
    """The class of a page as it is written: registered, it is a class made of that."""
    return next(
        (c for c in type(page).__mro__ if c.__module__.split(".")[0] in OURS), None
    )


PAGES = [page for page in admin.site._registry.values() if written(page)]
ACTIONS = [(page, name) for page in PAGES for name in page.actions]
NAMED = {
    name
    for room in ("admin", "issuers", "staff")
    for path in (Path(__file__).parent.parent / room).glob("test_*.py")
    for name in re.findall(r'"(\w+)"', path.read_text())
}
"""What the tests of the back office have in quotes, such as actions."""


DECORATED = re.compile(r"@admin\.action\(.*?\n    def (\w+)\(", re.DOTALL)


DECORATION = ("allowed_permissions", "short_description")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: written(page).__name__)
def test_every_action_that_is_written_is_offered(page):
    found = DECORATED.findall(inspect.getsource(written(page)))
    assert set(found) - set(page.actions) == set()


@pytest.mark.parametrize(("page", "name"), ACTIONS)
def test_an_action_says_who_may_do_it_and_what_it_does(page, name):
    action = getattr(type(page), name)
    said = [getattr(action, fact, None) for fact in DECORATION]
    assert all(said), f"{name}: @admin.action needs permissions and a description"


@pytest.mark.parametrize(("page", "name"), ACTIONS)
def test_an_action_is_tried(page, name):
    assert name in NAMED, f"test the action {name} in a file that names it"

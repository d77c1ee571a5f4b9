"""What all lists of the back office share."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account, Actor, User, UserHolder
from partnerapi.core import backoffice
from partnerapi.core.backoffice import BoundedPaginator
from partnerapi.core.money import euros
from tests.characters import World


@pytest.mark.parametrize(
    ("cents", "text"),
    [
        (82_696, "€826.96"),
        (5, "€0.05"),
        (-123_456_789, "−€1,234,567.89"),
    ],
)
def test_money_is_written_in_euros(cents: int, text: str):
    assert euros(cents) == text


def test_every_list_counts_no_further_than_its_pages_lead():
    for page in admin.site._registry.values():
        assert page.paginator is BoundedPaginator
        assert not page.show_full_result_count
        assert page.show_facets is admin.ShowFacets.NEVER


@pytest.mark.parametrize("path", ["issuers/legacyshareholder", "accounts/user"])
def test_an_address_orders_no_long_list(world: World, staff, path: str):
    found = []
    for order in ("", "?o=2", "?o=-3.1"):
        page = staff.get(f"/admin/{path}/{order}").content.decode()
        found.append(re.findall(r"/([0-9a-f-]{36})/change/", page))
        assert "?o=" not in page
    assert len(found[0]) > 1
    assert found[0] == found[1] == found[2]


def test_a_long_list_says_that_there_are_more(world: World, staff, monkeypatch):
    monkeypatch.setattr(backoffice, "MOST_LISTED", 3)
    with CaptureQueriesContext(connection) as captured:
        page = staff.get("/admin/issuers/legacyshareholder/").content.decode()
    assert "more than 3 legacy shareholders" in page
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]
    assert counts
    assert all("LIMIT 4" in sql for sql in counts)
    assert "€1.25" in page


@pytest.mark.parametrize(
    "path",
    [
        "issuers/legacyshareholder", "accounts/account", "accounts/accountstatuschange",
        "accounts/userholder",
    ],
)  # fmt: skip
def test_rows_of_a_person_are_found_by_the_persons_id(
    world: World, staff, monkeypatch, path: str
):
    """Few people are found first; rows of many are looked through in their order."""

    def found(term: str) -> tuple[list[str], str]:
        with CaptureQueriesContext(connection) as captured:
            page = staff.get(f"/admin/{path}/?q={term}").content.decode()
        rows = re.findall(r"([0-9a-f-]{36})/change/", page)
        return rows, " ".join(query["sql"] for query in captured)

    colleague = Actor("sam@staff.example", is_staff=True)
    for user in (world.owner, world.shareholders[0].user):
        Account.objects.open(world.partner, user, colleague, timezone.now())
        UserHolder.objects.get_or_create(user=user, defaults={"name": "A holder"})
    met = []
    for term in ("lumen opt", "lumen ines", "ines roca", "ines", "nobody"):
        few, by_id = found(term)
        assert " = ANY (" in by_id
        with monkeypatch.context() as patch:
            patch.setattr(backoffice, "MOST_PEOPLE", -1)
            many, by_name = found(term)
        assert " = ANY (" not in by_name
        assert few == many
        met += few
    assert met


def test_a_short_list_says_how_many_there_are(world: World, staff):
    page = staff.get("/admin/issuers/legacyshareholder/").content.decode()
    assert "7 legacy shareholders" in page
    assert "more than" not in page


def test_each_page_has_one_heading_a_way_past_the_menu_and_one_box(world: World, staff):
    user = User.objects.get(email="sam@example.com")
    for path in (
        "/admin/",
        "/admin/accounts/user/",
        f"/admin/accounts/user/{user.pk}/change/",
    ):
        page = staff.get(path).content.decode()
        assert page.count("<h1>") == 1
        assert page.count('href="#content-start"') == 1
        assert page.count('action="/admin/find/"') == 1

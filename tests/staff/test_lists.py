"""What all lists of the back office share."""

import re
from datetime import datetime, timedelta

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.accounts.models import Account
from accounts.people.models import User, UserHolder
from partnerapi.core import backoffice
from partnerapi.core.backoffice import BoundedPaginator
from partnerapi.core.money import euros
from partnerapi.sandbox.data.approvals import approved_key
from partnerapi.staff.cells import drawn
from tests.api.test_reading_writes_nothing import endpoint_of
from tests.approved import desk
from tests.characters import World
from tests.owner import tamper
from tests.plans import rows_read


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


ROW = re.compile(
    r'<th class="field[^>]*>(?:<bdi[^>]*>)?<a href="[^"]*/([0-9a-f-]{36})/'
)


@pytest.mark.parametrize("path", ["issuers/legacyshareholder", "accounts/user"])
def test_an_address_orders_no_long_list(world: World, staff, path: str):
    found = []
    for order in ("", "?o=2", "?o=-3.1"):
        page = staff.get(f"/admin/{path}/{order}").content.decode()
        found.append(ROW.findall(page))
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
        "accounts/userholder", "accounts/user",
    ],
)  # fmt: skip
def test_rows_of_a_person_are_found_by_the_persons_id(
    world: World, staff, monkeypatch, path: str
):
    """Few people are found first; rows of many are scanned in their order."""

    def found(term: str) -> tuple[list[str], str]:
        with CaptureQueriesContext(connection) as captured:
            page = staff.get(f"/admin/{path}/?q={term}").content.decode()
        rows = ROW.findall(page)
        return rows, " ".join(query["sql"] for query in captured)

    colleague = desk()
    for user in (world.owner, world.shareholders[0].user):
        Account.objects.open(world.partner, user, colleague, timezone.now())
        UserHolder.objects.get_or_create(user=user, defaults={"name": "A holder"})
    met = []
    for term in ("lumen opt", "lumen ines", "ines roca", "ines", "missing"):
        few, by_id = found(term)
        assert " = ANY (" in by_id
        with monkeypatch.context() as patch:
            patch.setattr(backoffice, "MOST_PEOPLE", -1)
            many, by_name = found(term)
        assert " = ANY (" not in by_name
        assert few == many
        met += few
    assert met


def test_a_search_for_a_person_reads_the_rows_of_that_person(world: World, staff):
    """Wherever they stand in the list, and whatever page of it is asked for."""
    own = [line.user_id for line in world.shareholders if line.user.last_name == "Roca"]
    tamper(
        "INSERT INTO issuers_legacyshareholder (id, issuer_id, user_id, status,"
        " number_of_shares, price_cents, created_at)"
        f" SELECT gen_random_uuid(), '{world.listed.pk}', CASE WHEN n % 200 = 0"
        f" THEN '{own[0]}'::uuid ELSE '{world.owner.pk}'::uuid END, 'PENDING', 1, 1,"
        " now() FROM generate_series(1, 40000) n"
    )
    tamper("ANALYZE issuers_legacyshareholder")
    for query in ("?q=Roca", "?q=Roca&p=2", "?q=Roca&status__exact=PENDING"):
        with CaptureQueriesContext(connection) as captured:
            staff.get(f"/admin/issuers/legacyshareholder/{query}")
        found = [each["sql"] for each in captured if " = ANY (" in each["sql"]]
        assert len(found) == 3
        assert all(
            rows_read(sql, "issuers_legacyshareholder") <= 250 for sql in found
        ), query


def test_an_empty_list_says_what_fills_it(world: World, staff):
    page = staff.get("/admin/partnerapi/webhookendpoint/").text
    assert "There is no webhook endpoint yet. A partner creates an endpoint" in page
    key, _ = approved_key(world.partner, ["issuers:read"])
    endpoint_of(key)
    page = staff.get("/admin/partnerapi/webhookendpoint/").text
    assert '<strong class="state on">On<' in page
    searched = staff.get("/admin/partnerapi/webhookendpoint/?q=nothing").text
    assert 'No webhook endpoint fits. <a href="?">Show all</a>' in searched


def test_no_list_shows_a_status_as_it_is_stored(world: World, staff):
    """Nor does a cell have only capitals with underscores."""
    for model in admin.site._registry:
        path = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        page = staff.get(path).text
        cells = re.findall(r'<t[dh] class="field-(?:status|state)[^>]*>([^<]*)<', page)
        assert [cell for cell in cells if cell.isupper()] == [], path


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


@pytest.mark.parametrize("name", ["W" * 200, "Société Générale des Eaux " * 7])
def test_a_long_name_is_cut_and_its_title_has_it(world: World, staff, name: str):
    name = name.strip()
    User.objects.filter(last_name="Roca").update(
        type="COMPANY", company_name=name, first_name="", last_name=""
    )
    page = staff.get("/admin/issuers/legacyshareholder/").content.decode()
    assert f'title="{name}"><bdi class="cut">' in page


def test_a_name_turns_nothing_around(world: World, staff):
    User.objects.filter(last_name="Roca").update(
        first_name="Zoë", last_name="\u202eevil Test"
    )
    page = staff.get("/admin/issuers/legacyshareholder/").content.decode()
    assert "Zoë evil Test" in page
    assert "\u202e" not in page
    User.objects.filter(first_name="Zoë").update(last_name="כהן")
    page = staff.get("/admin/issuers/legacyshareholder/").content.decode()
    assert '<bdi class="cut">' in page


def test_cells_are_cut_without_harm():
    plain = '<td class="field-x">short</td>'
    assert drawn(plain) == plain
    box = f'<td class="action-checkbox"><input type="checkbox" value="{9**30}"></td>'
    assert drawn(box) == box
    said = "&lt;b&gt; &quot;Tom &amp; Jerry&quot; &amp; Co"
    link = f'<a href="/x?a=1&amp;b=2">{said}</a>'
    assert drawn(f'<th class="a">{link}</th>') == (
        f'<th class="a" title="{said}"><bdi class="cut">{link}</bdi></th>'
    )


@pytest.mark.parametrize(
    ("column", "label", "state"),
    [
        ("status", "Active", "active"),
        ("phase nowrap", "Trading at last", "trading"),
        ("state", "Approved, not executed yet", "approved"),
        ("status", "500", None),
        ("status", "&lt;Active&gt;", None),
        ("status_reason", "Closed", None),
        ("kind", "Active", None),
    ],
)
def test_a_state_in_a_list_has_its_colour(column: str, label: str, state: str | None):
    cell = f'<td class="field-{column}">{label}</td>'
    said = f'<strong class="state {state}">{label}</strong>' if state else label
    assert drawn(cell) == f'<td class="field-{column}">{said}</td>'


def test_forms_of_new_rows_show_no_python(staff):
    for model, page in admin.site._registry.items():
        meta = model._meta
        answer = staff.get(f"/admin/{meta.app_label}/{meta.model_name}/add/")
        if answer.status_code == 200:
            shown = answer.content.decode()
            assert "django.db" not in shown, meta.label
            assert "object at 0x" not in shown, meta.label
            assert page.has_add_permission(answer.wsgi_request)


def test_a_key_is_given_no_further_scope_and_no_later_end(world: World, staff):
    end = timezone.now() + timedelta(days=9)
    key, _ = approved_key(world.partner, ["issuers:read"], end)
    page = f"/admin/accounts/apikey/{key.pk}/change/"

    def changed(scopes: list[str], until: datetime | None) -> str:
        given: dict[str, object] = {"scopes": scopes}
        if until:
            given |= {
                "expires_at_0": f"{until:%Y-%m-%d}", "expires_at_1": f"{until:%H:%M:%S}"
            }  # fmt: skip
        answer = staff.post(page, given, follow=True)
        assert answer.status_code == 200
        return answer.content.decode()

    wider = changed(["issuers:read", "captable:read"], end)
    assert "For captable:read, request another key" in wider
    assert "cannot be moved beyond" in changed(["issuers:read"], None)
    later = end + timedelta(days=1)
    assert "cannot be moved beyond" in changed(["issuers:read"], later)
    assert "was changed successfully" in changed(
        ["issuers:read"], end - timedelta(days=1)
    )

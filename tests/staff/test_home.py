"""The first page: what needs attention."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.history.models import StaffChange
from accounts.people.models import User
from marketdata.models import FixSession
from partnerapi.operations.models import JobRun
from partnerapi.sandbox.data.approvals import approved_key, file_and_approve
from partnerapi.staff import home
from partnerapi.staff.authentication.models import FailedSignIn
from tests.approved import desk
from tests.characters import World
from tests.owner import as_committed, tamper
from tests.staff.test_markets import of_role

NOW = timezone.now


@pytest.fixture
def tiles(staff):
    """The tiles that the page shows now, by their titles."""

    def read() -> dict:
        return {
            tile.title: tile.found for tile in staff.get("/admin/").context["tiles"]
        }

    return read


def test_an_empty_platform_says_that_nothing_waits(staff):
    for job in home.NIGHTLY:
        JobRun.objects.create(
            job=job, started_at=NOW(), seconds=1, result="DONE", detail=""
        )
    answer = staff.get("/admin/")
    # The reader has become staff just now.
    titles = [tile.title for tile in answer.context["tiles"]]
    assert titles == ["Access changes, last 24 hours"]
    tamper("UPDATE accounts_staffchange SET at = at - interval '1 day'")
    answer = staff.get("/admin/")
    assert answer.context["tiles"] == []
    assert [check.job for check in answer.context["checks"]] == [*home.NIGHTLY]
    assert "Nothing is waiting; last checked " in answer.content.decode()


def test_each_tile_counts_what_its_list_shows(world: World, staff, tiles):
    at = NOW()
    person = User.objects.get(last_name="Roca")
    actor = desk()
    Account.objects.open(world.partner, person, actor, at - timedelta(days=9))
    for days in (3, 30):
        approved_key(world.partner, [Scope.ISSUERS_READ], at + timedelta(days))
    as_committed()
    file_and_approve("MINT", {"token": str(world.public_token.pk)})
    FixSession.objects.bind(world.partner)
    FailedSignIn.objects.create(login="x@example.com", address="", is_locked=False)
    JobRun.objects.create(
        job="verify_books", started_at=at, seconds=1, result="FAILED", detail="Broken."
    )
    found = tiles()
    assert {title: each.count for title, each in found.items()} == {
        "Requests awaiting approval": 1,
        "Access changes, last 24 hours": StaffChange.objects.count(),
        "Pending deliveries": 7,
        "Pending accounts": 1,
        "Jobs failed today": 1,
        "Keys expiring within 14 days": 1,
        "CompIDs enabled but not connected": 1,
        "Tokens without a price": 2,
        "Failed sign-ins, last 24 hours": 1,
    }
    for title, tile in found.items():
        for line in [tile, *tile.lines]:
            listed = staff.get(line.link)
            assert listed.status_code == 200, title
            cl = listed.context.get("cl")
            shown = cl.result_count if cl else listed.context["count"]
            assert f"{shown:,}" == (line.count if line is not tile else tile.shown)
    assert [(line.text, line.count) for line in found["Pending deliveries"].lines] == [
        ("Lumen", "7")
    ]
    assert [line.text for line in found["Pending accounts"].lines] == [
        "older than a week"
    ]


def test_a_source_that_fails_fails_its_tile_alone(world: World, staff, monkeypatch):
    def fails(at):
        with transaction.atomic():
            home.fetch("SELECT 1 / 0", [], tuple)

    broken = home.Tile("Broken", User, fails)
    monkeypatch.setattr(home, "TILES", [broken, *home.TILES])
    answer = staff.get("/admin/")
    assert answer.status_code == 200
    titles = {tile.title: tile.found for tile in answer.context["tiles"]}
    assert titles["Broken"] is None
    assert titles["Pending deliveries"].count == 7
    assert "This count failed" in answer.content.decode()


def test_a_tile_takes_one_statement(world: World, staff):
    staff.get("/admin/")
    with CaptureQueriesContext(connection) as captured:
        staff.get("/admin/")
    # The session, its user, the badge, and the checks.
    assert len(captured) <= len(home.TILES) + 4 <= 20


def test_the_page_of_an_app_lists_only_that(staff):
    page = staff.get("/admin/issuers/").content.decode()
    assert "Needs attention" not in page
    assert "Nothing is waiting" not in page


def test_counts_end(world: World, tiles, monkeypatch):
    monkeypatch.setattr(home, "MOST", 3)
    assert tiles()["Pending deliveries"].shown == "more than 3"


def test_who_may_see_nothing_sees_no_tile(world: World):
    client = Client()
    client.force_login(
        User.objects.create_user(
            "new@example.com", type="INDIVIDUAL", first_name="N", is_staff=True
        )
    )
    answer = client.get("/admin/")
    assert answer.context["tiles"] == answer.context["checks"] == []


def test_a_late_check_is_wrong(staff):
    for job in home.NIGHTLY:
        JobRun.objects.create(
            job=job,
            started_at=NOW() - timedelta(days=2),
            seconds=1,
            result="DONE",
            detail="",
        )
    answer = staff.get("/admin/")
    assert all(check.is_wrong for check in answer.context["checks"])
    assert answer.content.decode().count("Run now") == len(home.NIGHTLY)


def test_work_is_that_of_a_role_and_the_oldest_comes_first(world: World):
    person, at = User.objects.get(last_name="Roca"), NOW()
    Account.objects.open(world.partner, person, desk(), at - timedelta(days=3))
    FixSession.objects.bind(world.partner)
    support = of_role("Support").get("/admin/").context
    assert [tile.title for tile in support["mine"]] == ["Pending accounts"]
    assert [tile.age for tile in support["mine"]] == ["3 days"]
    assert "Pending deliveries" in [tile.title for tile in support["others"]]
    ages = [tile.found.oldest for tile in support["tiles"] if tile.found.oldest]
    assert ages == sorted(ages)
    assert len(ages) > 1


@pytest.mark.django_db(transaction=True)
def test_a_badge_counts_decisions_that_wait_and_that_were_taken(world: World):
    asker, decider = of_role("Key manager"), of_role("Compliance", "two@staff.example")

    def badge(client: Client) -> tuple[int, int]:
        inbox = client.get("/admin/roles/").context["inbox"]
        return inbox.waiting, inbox.decided

    assert (badge(asker), badge(decider)) == ((0, 0), (0, 0))
    said = {"partner": world.partner.login, "issuer": world.quiet.slug, "reason": "Why"}
    asked = asker.post("/admin/ask/grant/", said)
    assert (badge(asker), badge(decider)) == ((0, 0), (1, 0))
    assert 'class="badge"' in decider.get("/admin/roles/").text
    refused = {"do": "refuse", "reason": "Not now"}
    assert decider.post(asked["Location"], refused).status_code == 302
    assert (badge(asker), badge(decider)) == ((0, 1), (0, 0))
    asker.get("/admin/accounts/approvalrequest/")
    assert badge(asker) == (0, 0)

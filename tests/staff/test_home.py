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
    assert [tile.title for tile in answer.context["tiles"]] == [
        "Access changes, last 24 hours", "Nightly checks",
    ]  # fmt: skip
    tamper("UPDATE accounts_staffchange SET at = at - interval '1 day'")
    answer = staff.get("/admin/")
    assert [tile.title for tile in answer.context["tiles"]] == ["Nightly checks"]
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
        "Nightly checks": 6,
        "Failed sign-ins, last 24 hours": 1,
    }
    for title, tile in found.items():
        for line in [tile, *tile.lines]:
            listed = staff.get(line.link)
            assert listed.status_code == 200, title
            cl = listed.context.get("cl")
            shown = cl.result_count if cl else listed.context["count"]
            if title != "Nightly checks":
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
    # The session, its user, and the user's last actions.
    assert len(captured) <= len(home.TILES) + 3


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
    assert client.get("/admin/").context["tiles"] == []


def test_a_late_check_counts(staff, tiles):
    for job in home.NIGHTLY:
        JobRun.objects.create(
            job=job,
            started_at=NOW() - timedelta(days=2),
            seconds=1,
            result="DONE",
            detail="",
        )
    assert tiles()["Nightly checks"].count == len(home.NIGHTLY)

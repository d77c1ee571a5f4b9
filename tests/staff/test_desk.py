"""Staff invite people to a partner's desk, two at a time, and end a membership."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts.approvals.models import ApprovalDecision, ApprovalRequest
from accounts.desk.models import DeskMember
from accounts.keys.models import ApiKey
from tests.characters import World
from tests.desks import active_member, signature
from tests.staff.test_asking import COMMITS, approve, ask, member

MAIA = "maia@broker.example"
READS = ["issuers:read"]
DESKS = ApprovalRequest.objects.filter(kind="DESK")
ALL = ("file_desk", "decide_desk", "view_partner", "view_deskmember")
ALONE = (
    *ALL, "change_deskmember", "file_key", "decide_key", "change_apikey",
    "change_partner", "add_partner", "view_apikey",
)  # fmt: skip


def request_page() -> str:
    asked = ApprovalRequest.objects.latest("filed_at")
    return f"/admin/accounts/approvalrequest/{asked.pk}/change/"


@COMMITS
def test_two_people_invite_a_person(world: World):
    ana, ben = member("ana", *ALL), member("ben", *ALL)
    said = {"partner": world.partner.login, "email": "Maia@Broker.example"}
    assert ask(ana, "desk", scopes=READS, **said).status_code == 302
    assert not DeskMember.objects.exists()
    shown = ben.get(request_page()).content.decode()
    for fact in (MAIA, "issuers:read", "Confirm the address with the partner"):
        assert fact in shown
    assert "Approved and executed" in approve(ben, request_page())
    maia = DeskMember.objects.get()
    assert (maia.email, maia.partner, maia.scopes) == (MAIA, world.partner, READS)
    assert maia.request == DESKS.all().get()
    assert MAIA in ben.get(f"/admin/partner/{world.partner.pk}/").content.decode()
    again = ask(ana, "desk", scopes=READS, **said)
    assert "is invited" in again.content.decode()


@COMMITS
@pytest.mark.parametrize("email", ["ana@staff.example", "BEN@staff.example"])
def test_an_address_of_staff_is_refused_when_it_is_asked_for(email: str, world: World):
    ana, _ = member("ana", *ALL), member("ben", *ALL)
    said = {"partner": world.partner.login, "email": email}
    answer = ask(ana, "desk", scopes=READS, **said)
    assert "is the address of a member of staff" in answer.content.decode()
    assert not DESKS.all().exists()


@pytest.mark.parametrize("email", ["", "maia", "mаia@broker.example", "a@b.c\n@d.e"])
def test_an_address_is_one(email: str, world: World):
    said = {"partner": world.partner.login, "email": email, "scopes": READS}
    assert ask(member("ana", *ALL), "desk", **said).status_code == 200
    assert not DESKS.all().exists()


def every_form(world: World, maia: DeskMember) -> list[tuple[str, dict[str, Any]]]:
    """What a lone member of staff could try for a key of the partner."""
    said = {"partner": world.partner.login, "email": "own@private.example"}
    page, why = f"/admin/partner/{world.partner.pk}", {"reason": "Mine"}
    key = {"scopes": READS, "days": "30", "overlap_hours": "0"} | why
    return [
        ("/admin/ask/desk/", said | why | {"scopes": READS}),
        ("/admin/ask/key/", key | {"partner": world.partner.login}),
        (f"{page}/key/", key),
        (f"/admin/desk/{maia.pk}/", {"email": "own@private.example"} | key),
        ("/partner/sign-in", {"answer": "{}"}),
        ("/partner/keys", key | {"do": "issue"}),
        (f"/partner/invitation/{maia.pk}:x", {"options": ""}),
    ]


@COMMITS
def test_a_lone_member_of_staff_gets_no_key_of_a_partner(world: World):
    maia, _ = active_member(world.partner, MAIA, READS)
    decided = ApprovalDecision.objects.count()
    lone = member("lone", *ALONE)
    for path, form in every_form(world, maia):
        lone.post(path, form)
    for asked in ApprovalRequest.objects.filter(decision=None):
        page = f"/admin/accounts/approvalrequest/{asked.pk}/change/"
        assert "own request" in approve(lone, page)
    assert ApprovalDecision.objects.count() == decided
    assert not ApiKey.objects.exists()
    members = DeskMember.objects.filter(ended_at=None)
    assert {*members.values_list("email", flat=True)} <= {MAIA}


def test_staff_end_a_membership_for_a_reason(world: World):
    maia, device = active_member(world.partner, MAIA, READS)
    signature(device)
    page = f"/admin/desk/{maia.pk}/"
    assert member("cleo", *ALL).get(page).status_code == 403
    ana = member("ana", *ALL, "change_deskmember")
    assert page in ana.get(f"/admin/partner/{world.partner.pk}/").content.decode()
    assert "The reason is empty" in ana.post(page, {"reason": " "}).content.decode()
    maia.refresh_from_db()
    assert maia.ended_at is None
    ana.post(page, {"reason": "She has left"})
    maia.refresh_from_db()
    assert (maia.ended_by, maia.may_use()) == ("ana@staff.example", False)
    assert LogEntry.objects.get().change_message == "Ended: She has left"
    log = member("log", "view_rowchange").get("/admin/log/").content.decode()
    assert "Ended: She has left" in log
    answer = ana.post(page, {"reason": "Again"}, follow=True)
    assert "A colleague has already ended" in answer.content.decode()
    assert "needs a second person" in ana.get(page).content.decode()


def test_the_page_of_a_partner_hides_members_from_those_without_the_right(
    world: World, client: Client
):
    active_member(world.partner, MAIA, READS)
    shown = member("dora", "view_partner").get(f"/admin/partner/{world.partner.pk}/")
    assert MAIA not in shown.content.decode()

"""The page of a partner, and those of its keys and grants."""

from html import unescape
from typing import Any

import orjson
import pytest
from django.contrib.admin.models import LogEntry
from django.db import ProgrammingError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import ApiKey
from issuers.models import IssuerGrant
from marketdata.models import FixSession
from partnerapi.gateway.recent import MOST_KEPT, Recent, recent, requests_of
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.characters import Ask, World
from tests.owner import tamper
from tests.staff.test_asking import COMMITS, member


def page_of(world: World) -> str:
    return f"/admin/partner/{world.partner.pk}/"


def text_of(client: Client, path: str) -> str:
    return client.get(path).content.decode()


def test_a_partner_stands_on_one_page(world: World, partner: Ask, staff: Client):
    partner("{ viewer { login } }")
    recent.write()
    [session] = FixSession.objects.bind(world.partner)
    context = staff.get(page_of(world)).context
    [(key, state)] = context["keys"]
    assert (key, state) == (ApiKey.objects.get(), ("active", "active, without an end"))
    assert 0 < context["budget"].remaining <= context["budget"].limit
    assert [grant.issuer for grant in context["grants"]] == [world.listed]
    assert context["sessions"] == [(session, "not connected")]
    [(_, request)] = context["requests"]
    assert (request.operation, request.code, request.status) == ("query", "OK", 200)


def test_the_page_takes_a_constant_number_of_statements(world: World, staff: Client):
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get(page_of(world))
        return len(captured)

    before = statements()
    for scope in Scope:
        approved_key(world.partner, [scope])
    approved_grant(world.partner, world.quiet)
    FixSession.objects.bind(world.partner, 3)
    assert statements() == before <= 20


def test_the_last_requests_are_told_without_bodies(
    world: World, partner: Ask, staff: Client
):
    body = {"query": "query Mine { viewer { login } }", "operationName": "Mine"}
    partner.post(orjson.dumps(body))
    partner("{ nonsense }")
    recent.write()
    newest, oldest = requests_of(str(world.partner.pk))
    assert (oldest.name, oldest.code, newest.code) == (
        "Mine",
        "OK",
        "GRAPHQL_VALIDATION_FAILED",
    )
    assert newest.points > 0
    path = f"{page_of(world)}requests/"
    assert oldest.request_id in text_of(staff, path)
    refused = staff.get(path, {"code": newest.code}).context["requests"]
    assert [row.request_id for _, row in refused] == [newest.request_id]
    for at in range(MOST_KEPT + 5):
        recent.note(
            str(world.partner.pk), Recent(at, "query", "", 1, 1.0, 200, "OK", str(at))
        )
    recent.write()
    assert len(requests_of(str(world.partner.pk))) == MOST_KEPT
    assert "nonsense" not in text_of(staff, path)


@COMMITS
def test_a_key_is_asked_for_on_the_partners_page(world: World):
    ana = member("ana", "file_key", "view_partner", "view_apikey")
    page = f"{page_of(world)}key/"
    assert "A second person decides on each key." in text_of(ana, page)
    said: dict[str, Any] = {"scopes": ["issuers:read"], "reason": "So", "days": 9}
    said["overlap_hours"] = 2
    answer = ana.post(page, said, follow=True)
    assert "Nothing is issued yet" in answer.content.decode()
    asked = ApprovalRequest.objects.latest("filed_at")
    assert asked.content["partner"] == str(world.partner.pk)
    assert str(asked.pk) in text_of(ana, page_of(world))
    assert not ApiKey.objects.exists()
    assert member("ben", "view_partner").get(page).status_code == 403


def test_where_one_person_is_enough_the_key_is_shown_once(world: World, staff: Client):
    old, _ = approved_key(world.partner, [Scope.ISSUERS_READ])
    tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE WHERE kind = 'KEY'")
    page = f"{page_of(world)}key/?rotates={old.pk}"
    form = staff.get(page).context["form"]
    assert (form["rotates"].value(), form["scopes"].value()) == (
        old.pk,
        ["issuers:read"],
    )
    said = {"scopes": ["issuers:read"], "reason": "A year is over", "overlap_hours": 2}
    shown = staff.post(page, said | {"rotates": str(old.pk)})
    token = shown.context["key_token"]
    assert "I have stored the key" in shown.content.decode()
    key = ApiKey.objects.authenticate(token, timezone.now())
    assert LogEntry.objects.get(object_id=key.pk).change_message == (
        "Issued: A year is over"
    )
    old.refresh_from_db()
    assert 7_100 < (old.expires_at - timezone.now()).total_seconds() <= 7_200
    assert set(ApiKey.objects.live(timezone.now())) == {old, key}
    assert token not in text_of(staff, page_of(world))


def test_a_key_is_revoked_for_a_reason_after_its_consequences(
    world: World, staff: Client
):
    key, _ = approved_key(world.partner, [Scope.MARKETDATA_READ, Scope.ISSUERS_READ])
    approved_key(world.partner, [Scope.ISSUERS_READ])
    [session] = FixSession.objects.bind(world.partner)
    FixSession.objects.update(connected_since=timezone.now())
    page = f"/admin/keys/revoke/?key={key.pk}"
    [(shown, lost, live)] = staff.get(page).context["keys"]
    assert (shown, lost, live) == (key, ["marketdata:read"], [session.comp_id])
    answer = staff.post(page, {"reason": " "})
    assert "The reason is empty." in answer.content.decode()
    key.refresh_from_db()
    assert key.revoked_at is None
    answer = staff.post(page, {"reason": "It leaked"})
    assert answer["Location"] == page_of(world)
    assert ApiKey.objects.get(pk=key.pk).revoked_at is not None
    said = LogEntry.objects.get(object_id=key.pk).change_message
    assert said == "Revoked: It leaked"
    assert "No key to revoke" in text_of(staff, page)
    assert "No key was selected" in text_of(staff, "/admin/keys/revoke/?key=x")


def test_a_grant_ends_and_is_requested_again(world: World, partner: Ask, staff: Client):
    grant = IssuerGrant.objects.get(partner=world.partner)
    page = f"/admin/grant/{grant.pk}/"
    asked = "{ viewer { grants { totalCount } } }"

    def granted() -> int:
        return partner(asked).data["viewer"]["grants"]["totalCount"]

    assert granted() == 1
    assert "The reason is empty." in staff.post(page, {}).content.decode()
    staff.post(page, {"reason": "The contract ended"})
    grant.refresh_from_db()
    assert grant.ended_at is not None
    assert granted() == 0
    place = f"/admin/ask/grant/?partner={world.partner.login}"
    place += f"&issuer={world.listed.slug}"
    for shown in (page_of(world), page):
        assert place in unescape(text_of(staff, shown))
    staff.post(page, {"reason": "A new contract"})
    assert granted() == 0
    said = LogEntry.objects.filter(object_id=grant.pk)
    assert [entry.change_message for entry in said] == ["Ended: The contract ended"]


def test_grants_and_keys_are_never_deleted(world: World, staff: Client):
    key, _ = approved_key(world.partner, [])
    grant = IssuerGrant.objects.get(partner=world.partner)
    for row in (key, grant):
        meta = row._meta
        page = f"/admin/{meta.app_label}/{meta.model_name}/{row.pk}/delete/"
        assert staff.post(page, {"post": "yes"}).status_code == 403
        listed = f"/admin/{meta.app_label}/{meta.model_name}/"
        assert "delete_selected" not in text_of(staff, listed)
        with (
            pytest.raises(ProgrammingError, match="permission denied"),
            transaction.atomic(),
        ):
            type(row).objects.filter(pk=row.pk)._raw_delete("default")
    with (
        pytest.raises(ProgrammingError, match="permission denied"),
        transaction.atomic(),
    ):
        IssuerGrant.objects.filter(pk=grant.pk).update(issuer=world.quiet)

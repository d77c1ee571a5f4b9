"""A partner's desk through its front door: who sees which page, and what they do there.

Each role is tried on each page; the expected answers stand in ROLES and PAGES.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.access import Scope
from accounts.desk.invitations import end_membership, invitation_path
from accounts.desk.models import DeskMember
from accounts.history.models import RowChange
from accounts.keys.models import ApiKey
from accounts.passkeys.signing import bytes_of
from accounts.people.models import User
from partnerapi.desk import sessions
from partnerapi.exports.models import Export
from partnerapi.gateway.counts import counts
from partnerapi.gateway.recent import recent
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from partnerapi.urls import FOR_DESKS
from tests.accounts.test_four_eyes import member as staff_member
from tests.characters import Ask, World
from tests.desks import (
    active_member,
    invited_member,
    let_rest,
    new_device,
    set_passkey,
    sign_in,
)
from tests.owner import superuser, tamper
from tests.passkeys import Device

MAIA = "maia@broker.example"
READS = [Scope.ISSUERS_READ.value]
SIGN_IN = "/partner/sign-in"
PAGES = [
    "/partner",
    "/partner/requests",
    "/partner/keys",
    "/partner/access",
    "/partner/exports",
    "/partner/webhooks",
]


@pytest.fixture(autouse=True)
def site(settings):
    settings.PARTNER_API_SITE = "http://testserver"
    counts.noted.clear()


class Uncounted(Device):
    """A device without a counter, as most passkeys that are synchronized."""

    def __init__(self) -> None:
        super().__init__("testserver", "https://testserver")

    def data(self, flags: int, more: bytes = b"") -> bytes:
        self.count = -1
        return super().data(flags, more)


def with_session(member: DeskMember) -> Client:
    """A browser that holds a session of the member, however it came by it."""
    response, client = HttpResponse(), Client()
    sessions.begin(response, member)
    client.cookies[sessions.COOKIE] = response.cookies[sessions.COOKIE].value
    return client


def signed_in(device: Device) -> Client:
    client = Client()
    assert sign_in(client, device).status_code == 302
    return client


def stranger(world: World) -> Client:
    return Client()


def staff(world: World) -> Client:
    client = Client()
    client.force_login(
        superuser(
            "root@staff.example",
            type=User.Type.INDIVIDUAL,
            first_name="R",
            last_name="T",
        )
    )
    return client


def staff_with_their_session_as_the_desks(world: World) -> Client:
    client = staff(world)
    client.cookies[sessions.COOKIE] = client.cookies["sessionid"].value
    return client


def guesser(world: World) -> Client:
    client = Client()
    client.cookies[sessions.COOKIE] = "a" * 32
    return client


def invited(world: World) -> Client:
    return with_session(invited_member(world.partner, MAIA, READS))


def resting(world: World) -> Client:
    member = invited_member(world.partner, MAIA, READS)
    set_passkey(member, new_device())
    let_rest(member, timedelta(hours=23))
    return with_session(member)


def viewer(world: World) -> Client:
    return signed_in(active_member(world.partner, MAIA)[1])


def issuer(world: World) -> Client:
    return signed_in(active_member(world.partner, MAIA, READS)[1])


def ended(world: World) -> Client:
    member, device = active_member(world.partner, MAIA, READS)
    client = signed_in(device)
    end_membership(member, staff_member("ana", "change_deskmember").email or "")
    return client


def switched_off(world: World) -> Client:
    client = issuer(world)
    world.partner.is_active = False
    world.partner.save()
    return client


def now_staff(world: World) -> Client:
    client = issuer(world)
    User.objects.create_user(
        MAIA, type=User.Type.INDIVIDUAL, first_name="M", last_name="A", is_staff=True
    )
    return client


def signed_out(world: World) -> Client:
    client = issuer(world)
    key = client.cookies[sessions.COOKIE].value
    client.post("/partner/sign-out")
    client.cookies[sessions.COOKIE] = key
    return client


def idle(world: World) -> Client:
    return aged(issuer(world), sessions.SEEN, sessions.IDLE)


def long_signed_in(world: World) -> Client:
    return aged(issuer(world), sessions.BEGAN, sessions.LONGEST)


def aged(client: Client, what: str, by: timedelta) -> Client:
    store = SessionStore(client.cookies[sessions.COOKIE].value)
    store[what] -= by.total_seconds()
    store.save()
    return client


# Which roles see the pages, and which issue keys.
ROLES: dict[Callable[[World], Client], tuple[bool, bool]] = {
    stranger: (False, False),
    staff: (False, False),
    staff_with_their_session_as_the_desks: (False, False),
    guesser: (False, False),
    invited: (False, False),
    resting: (False, False),
    viewer: (True, False),
    issuer: (True, True),
    ended: (False, False),
    switched_off: (False, False),
    now_staff: (False, False),
    signed_out: (False, False),
    idle: (False, False),
    long_signed_in: (False, False),
}
each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.__name__)


def test_every_address_is_tried():
    routes = {f"/{url.pattern}" for url in FOR_DESKS}
    entries = {SIGN_IN, "/partner/sign-out", "/partner/invitation/<str:signed>"}
    assert routes == {*PAGES} | entries


@each_role
def test_who_sees_which_page(role: Callable[[World], Client], world: World):
    client = role(world)
    sees, issues = ROLES[role]
    for path in PAGES:
        answer = client.get(path)
        if sees:
            assert answer.status_code == 200, path
            assert answer.context["partner"] == world.partner
        else:
            assert (answer.status_code, answer.headers["location"]) == (302, SIGN_IN)
        assert "no-store" in answer["Cache-Control"]
    asked = {"scopes": READS, "days": "30", "do": "issue", "options": ""}
    answer = client.post("/partner/keys", asked)
    if not sees:
        assert (answer.status_code, answer.headers["location"]) == (302, SIGN_IN)
    else:
        assert ("challenge" in answer.json(), "problem" in answer.json()) == (
            issues,
            not issues,
        )


@each_role
def test_who_revokes_keys(role: Callable[[World], Client], world: World):
    key, _ = approved_key(world.partner, READS)
    sees, _ = ROLES[role]
    # A partner that is switched off has no live key; the row says enough.
    role(world).post("/partner/keys", {"do": "revoke", "key": str(key.pk)})
    key.refresh_from_db()
    assert bool(key.revoked_at) == sees


@each_role
def test_a_desk_opens_nothing_of_staff(role: Callable[[World], Client], world: World):
    client = role(world)
    if role in (staff, staff_with_their_session_as_the_desks):
        return
    if sessions.COOKIE in client.cookies:
        client.cookies["sessionid"] = client.cookies[sessions.COOKIE].value
    answer = client.get("/admin/")
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/admin/login/")


def test_signing_in_takes_a_passkey_once(world: World, settings):
    settings.SESSION_COOKIE_SECURE = True
    _, device = active_member(world.partner, MAIA, READS, Uncounted())
    client = Client()
    asked = client.post(SIGN_IN, {"options": ""})
    # No address is typed, and none is shown: the device knows its passkey.
    assert {*asked.json()} == {"challenge", "rpId", "userVerification"}
    answer = device.sign_challenge(bytes_of(asked.json()["challenge"]))
    done = client.post(SIGN_IN, {"answer": answer})
    assert (done.status_code, done.headers["location"]) == (302, "/partner")
    cookie = done.cookies[sessions.COOKIE]
    assert (cookie["httponly"], cookie["secure"], cookie["samesite"]) == (
        True, True, "Lax",
    )  # fmt: skip
    assert cookie["path"] == "/partner"
    assert "sessionid" not in done.cookies

    copied = Client()
    copied.cookies = asked.cookies
    again = copied.post(SIGN_IN, {"answer": answer})
    assert again.status_code == 403
    assert "was used before" in again.content.decode()
    assert sessions.COOKIE not in again.cookies


def test_a_copy_of_a_passkey_signs_no_one_in(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    assert sign_in(Client(), device).status_code == 302
    device.count -= 1
    assert sign_in(Client(), device).status_code == 403


@pytest.mark.parametrize(
    "answer", ["", "{}", "null", "[]", '{"id": "A"}', "\x00", "[" * 100_000]
)
def test_an_answer_that_is_none_signs_no_one_in(answer: str, world: World):
    client = Client()
    client.post(SIGN_IN, {"options": ""})
    done = client.post(SIGN_IN, {"answer": answer})
    assert done.status_code == 403
    assert sessions.COOKIE not in done.cookies


def test_a_passkey_of_another_site_signs_no_one_in(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    device.origin = "https://testserver.example"
    assert sign_in(Client(), device).status_code == 403
    device.origin, device.flags = "https://testserver", 1
    assert sign_in(Client(), device).status_code == 403


def test_a_challenge_of_another_browser_signs_no_one_in(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    asked = Client().post(SIGN_IN, {"options": ""}).json()
    answer = device.sign_challenge(bytes_of(asked["challenge"]))
    assert Client().post(SIGN_IN, {"answer": answer}).status_code == 403


def test_attempts_are_paid_from_the_budget_of_the_address(world: World, settings):
    settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS = 3
    settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL = 1
    client = Client()
    answers = [client.post(SIGN_IN, {"answer": ""}) for _ in range(20)]
    assert {answer.status_code for answer in answers} == {403, 429}
    assert answers[-1]["Retry-After"]
    assert client.get(SIGN_IN).status_code == 200


@pytest.mark.parametrize("path", ["/partner/keys", "/partner/sign-out", SIGN_IN])
def test_forms_of_other_sites_are_refused(path: str, world: World):
    key, _ = approved_key(world.partner, READS)
    client = issuer(world)
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = client.cookies
    answer = careful.post(path, {"do": "revoke", "key": str(key.pk)})
    assert answer.status_code == 403
    key.refresh_from_db()
    assert key.revoked_at is None
    assert client.get("/partner").status_code == 200


def test_an_invitation_leads_to_a_passkey(world: World):
    member = invited_member(world.partner, MAIA, READS)
    path, client, device = invitation_path(member), Client(), new_device()
    assert MAIA in client.get(path).content.decode()
    asked = client.post(path, {"options": ""}).json()
    assert asked["rp"]["id"] == "testserver"
    assert asked["authenticatorSelection"]["residentKey"] == "required"
    answer = device.register(bytes_of(asked["challenge"]))
    done = client.post(path, {"answer": answer})
    assert "It can be used from" in done.content.decode()
    assert client.get(path).status_code == 410
    assert client.post(path, {"answer": answer}).status_code == 410
    assert sign_in(client, device).status_code == 403
    let_rest(member)
    assert sign_in(client, device).status_code == 302


def test_a_wrong_invitation_is_none(world: World):
    member = invited_member(world.partner, MAIA, READS)
    other = invited_member(world.partner, "joao@broker.example")
    forged = invitation_path(other).replace(str(other.pk), str(member.pk))
    for path in (forged, f"/partner/invitation/{member.pk}", "/partner/invitation/x:y"):
        assert Client().get(path).status_code == 410
        assert Client().post(path, {"options": ""}).status_code == 410


def test_a_challenge_of_one_invitation_enrols_no_other(world: World):
    maia, joao = (
        invited_member(world.partner, email) for email in (MAIA, "joao@b.example")
    )
    client, device = Client(), new_device()
    asked = client.post(invitation_path(joao), {"options": ""}).json()
    answer = device.register(bytes_of(asked["challenge"]))
    assert client.post(invitation_path(maia), {"answer": answer}).status_code == 403
    maia.refresh_from_db()
    assert maia.enrolled_at is None


def asked_for(client: Client, device: Device, **said: Any) -> Any:
    form = {"scopes": READS, "days": "30", "do": "issue"} | said
    asked = client.post("/partner/keys", form | {"options": ""}).json()
    answer = device.sign_challenge(bytes_of(asked["challenge"]))
    return form | {"answer": answer}


def test_a_key_is_issued_with_the_passkey_and_shown_once(world: World):
    _, device = active_member(world.partner, MAIA, READS, Uncounted())
    client = signed_in(device)
    form = asked_for(client, device)
    shown = client.post("/partner/keys", form)
    token = shown.context["key_token"]
    assert token in shown.content.decode()
    assert "no-store" in shown["Cache-Control"]
    assert Ask(token)("{ viewer { scopes } }").data == {"viewer": {"scopes": READS}}
    key = ApiKey.objects.get()
    [issued] = RowChange.objects.filter(row_id=key.pk)
    assert (issued.who, issued.source) == (MAIA, "desk /partner/keys")
    assert key.expires_at is not None
    assert abs(key.expires_at - timezone.now() - timedelta(30)) < timedelta(minutes=1)
    assert token not in client.get("/partner/keys").content.decode()
    again = client.post("/partner/keys", form)
    assert "was used before" in again.content.decode()
    assert ApiKey.objects.count() == 1
    client.post("/partner/keys", {"do": "revoke", "key": str(key.pk)})
    key.refresh_from_db()
    assert key.revoked_at


def test_what_was_signed_is_what_is_issued(world: World):
    scopes = [*READS, Scope.CASH_WRITE.value]
    _, device = active_member(world.partner, MAIA, scopes)
    client = signed_in(device)
    for changed in ({"scopes": scopes}, {"days": "365"}):
        form = asked_for(client, device) | changed
        assert "waited too long" in client.post("/partner/keys", form).content.decode()
    assert not ApiKey.objects.exists()


def test_a_session_without_its_passkey_issues_nothing(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    _, others = active_member(world.partner, "joao@broker.example", READS)
    client = signed_in(device)
    bare = {"scopes": READS, "days": "30", "do": "issue"}
    for form in (bare, asked_for(client, others)):
        client.post("/partner/keys", form)
    sign_in_challenge = Client().post(SIGN_IN, {"options": ""})
    client.cookies["desk_challenge"] = sign_in_challenge.cookies["desk_challenge"].value
    answer = device.sign_challenge(bytes_of(sign_in_challenge.json()["challenge"]))
    client.post("/partner/keys", bare | {"answer": answer})
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    "said",
    [
        {"scopes": [Scope.CASH_WRITE.value]},
        {"scopes": []},
        {"days": "366"},
        {"days": "0"},
        {"days": ""},
    ],
)
def test_other_keys_are_not_even_signed(said: dict[str, Any], world: World):
    client = issuer(world)
    form = {"scopes": READS, "days": "30", "do": "issue", "options": ""} | said
    assert [*client.post("/partner/keys", form).json()] == ["problem"]


@pytest.mark.parametrize("key", ["", "x", "0" * 32])
def test_a_key_that_is_not_there_is_not_revoked(key: str, world: World):
    answer = issuer(world).post("/partner/keys", {"do": "revoke", "key": key})
    assert answer.status_code == 302


def export_of(partner: Any, connection: str) -> Export:
    now = timezone.now()
    export = Export.objects.create(partner=partner, connection=connection)
    tamper(
        "UPDATE partnerapi_export SET status = 'READY',"
        f" date = '{now}', ended_at = '{now}',"
        f" expires_at = '{now + timedelta(hours=1)}',"
        f" is_written = TRUE WHERE id = '{export.pk}'"
    )
    return export


def test_a_desk_shows_its_partner_and_no_other(
    world: World, partner: Ask, observer: Ask
):
    partner("{ viewer { login } }")
    partner("{ nonsense }")
    observer("{ viewer { login } }")
    recent.write()
    counts.write()
    approved_grant(world.observer, world.quiet)
    export_of(world.observer, "ISSUERS")
    active_member(world.observer, "rita@reader.example", READS)
    _, device = active_member(world.partner, MAIA, READS)
    client = signed_in(device)
    usage = client.get("/partner").context
    assert [(row["requests"], row["failed"]) for row in usage["hours"]] == [(2, 1)]
    assert [(row["requests"], row["failed"]) for row in usage["days"]] == [(2, 1)]
    assert sorted((row["code"], row["requests"]) for row in usage["counts"]) == [
        ("GRAPHQL_VALIDATION_FAILED", 1),
        ("OK", 1),
    ]
    requests = client.get("/partner/requests").context["requests"]
    assert [row.code for _, row in requests] == ["GRAPHQL_VALIDATION_FAILED", "OK"]
    [(_, failed)] = client.get(
        "/partner/requests", {"code": "GRAPHQL_VALIDATION_FAILED"}
    ).context["requests"]
    assert client.get("/partner/requests", {"id": failed.request_id}).context[
        "requests"
    ] == [requests[0]]
    [(key, _)] = client.get("/partner/keys").context["keys"]
    assert key.partner == world.partner
    access = client.get("/partner/access").context
    assert [grant.issuer for grant in access["grants"]] == [world.listed]
    assert [each.email for each, _ in access["members"]] == [MAIA]
    assert client.get("/partner/exports").context["exports"] == []


def test_a_link_ends_with_the_membership(world: World, partner: Ask):
    export_of(world.partner, "ISSUERS")
    member, device = active_member(world.partner, MAIA, READS)
    [(_, link)] = signed_in(device).get("/partner/exports").context["exports"]
    assert Client().get(link).status_code == 200
    without = link.replace(f"member={member.pk}&", "")
    assert Client().get(without).status_code == 403
    end_membership(member, staff_member("ana", "change_deskmember").email or "")
    assert Client().get(link).status_code == 403


def test_a_file_has_a_link_within_the_members_scopes(world: World, partner: Ask):
    open_to_it = export_of(world.partner, "ISSUERS")
    export_of(world.partner, "ORDERS")
    member, device = active_member(world.partner, MAIA, READS)
    client = signed_in(device)
    links = {
        export.connection: link
        for export, link in client.get("/partner/exports").context["exports"]
    }
    assert links["ORDERS"] == ""
    assert links["ISSUERS"].startswith(
        f"/exports/{open_to_it.pk}?member={member.pk}&signature="
    )
    for key in ApiKey.objects.all():
        key.revoke(timezone.now())
    assert {link for _, link in client.get("/partner/exports").context["exports"]} == {
        ""
    }


@pytest.mark.parametrize("path", PAGES)
def test_a_page_takes_a_constant_number_of_statements(path: str, world: World):
    client = signed_in(active_member(world.partner, MAIA, READS)[1])

    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(path)
        return len(captured)

    before = statements()
    for scope in Scope:
        approved_key(world.partner, [scope])
    approved_grant(world.partner, world.quiet)
    invited_member(world.partner, "joao@broker.example")
    assert statements() == before <= 12

"""Staff whose access a colleague changed decide no requests for 24 hours."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, Permission
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.approvals.four_eyes import (
    NotApproved,
    Superseded,
    carry_out,
    decide,
    file_request,
    rests_until,
)
from accounts.approvals.models import ApprovalDecision, ApprovalRequest
from accounts.history.models import StaffChange, StaffNotice
from accounts.people.models import User
from accounts.sign_ins.models import RecoveryCode
from accounts.sign_ins.recovery import make_codes
from accounts.sign_ins.resets import ResetSignIn, reset_content
from issuers.register import ledger
from issuers.register.approvals import EnterUnits, entry_content
from issuers.register.ledger import Entry, Kind
from issuers.register.models import LedgerTransaction
from partnerapi.core.authors import written_by
from partnerapi.staff import roles
from partnerapi.staff.authentication.passwords import PBKDF2PasswordHasher
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import appoint, superuser, tamper

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"
What = StaffChange.What


def member(name: str, *groups: str) -> User:
    user = User.objects.create_user(
        f"{name}@staff.example",
        PASSWORD,
        type=User.Type.INDIVIDUAL,
        first_name=name,
        last_name="Staff",
        is_staff=True,
    )
    user.groups.set(Group.objects.filter(name__in=groups))
    return user


@pytest.fixture(autouse=True)
def quick_sign_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partnerapi.staff.authentication.sign_in.LEAST_SECONDS", 0)


@pytest.fixture
def sam() -> User:
    """The insider, who may do everything."""
    names = {"first_name": "Sam", "last_name": "Staff"}
    return superuser("sam@staff.example", PASSWORD, type="INDIVIDUAL", **names)


@pytest.fixture
def ilse() -> User:
    """Of Compliance, and able to decide."""
    user = member("ilse", "Compliance")
    appoint(user)
    return user


@pytest.fixture
def asked(sam: User) -> ApprovalRequest:
    """A mint that Sam wants."""
    token = empty_token(new_issuer(), "EYES", timezone.now())
    # Of an issuer that was there before: its mints need an approval.
    tamper("UPDATE issuers_issuer SET recorded_in = 0")
    [account] = ledger.holder_accounts([people(1)[0].pk]).values()
    entry = Entry(token.pk, Kind.MINT, 1_000_000, None, account, "Mine")
    return ask(entry, sam)


def ask(entry: Entry, by: User) -> ApprovalRequest:
    return file_request(entry.kind, entry_content(entry, 0), "Mint", "Mine", by)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def by_password(email: str, password: str) -> Client:
    client = Client()
    body = {"username": email, "password": password, "next": "/admin/"}
    assert client.post("/admin/login/", body).status_code == 302
    return client


def approve(client: Client, asked: ApprovalRequest) -> str:
    """Press *Approve*; what the page says then."""
    page = reverse("admin:accounts_approvalrequest_change", args=[asked.pk])
    answer = client.post(page, {"do": "approve"}, follow=True)
    return answer.content.decode()


def nothing_is_decided() -> bool:
    return not (ApprovalDecision.objects.exists() or LedgerTransaction.objects.exists())


def a_day_passes() -> None:
    tamper("UPDATE accounts_staffchange SET at = at - interval '24 hours'")


def page_of(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])


def form_of(user: User) -> dict[str, object]:
    return {
        "type": user.type,
        "email": user.email,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "company_name": "",
        "is_active": "on",
        "is_staff": "on",
        "groups": [group.pk for group in user.groups.all()],
    }


# What Sam does with the pages, and as whom he signs in then.


def makes_a_colleague(sam: Client, ilse: User) -> Client:
    names = {"type": "INDIVIDUAL", "email": "new@staff.example", "first_name": "New"}
    words = {"password1": PASSWORD, "password2": PASSWORD, "usable_password": "true"}
    sam.post(reverse("admin:accounts_user_add"), names | words)
    made = User.objects.get(email="new@staff.example")
    groups = [Group.objects.get(name="Compliance").pk]
    sam.post(page_of(made), form_of(made) | {"groups": groups})
    return by_password("new@staff.example", PASSWORD)


def promotes_a_client(sam: Client, ilse: User) -> Client:
    [client] = people(1)
    User.objects.filter(pk=client.pk).update(email="client@example.com")
    client.refresh_from_db()
    groups = [Group.objects.get(name="Compliance").pk]
    sam.post(page_of(client), form_of(client) | {"groups": groups})
    return sets_the_password(sam, client)


def sets_the_password(sam: Client, of: User) -> Client:
    words = {"password1": "another horse battery", "password2": "another horse battery"}
    address = reverse("admin:auth_user_password_change", args=[of.pk])
    assert sam.post(address, words | {"usable_password": "true"}).status_code == 302
    of.refresh_from_db()
    return by_password(of.email or "", "another horse battery")


def gives_a_new_login(sam: Client, ilse: User) -> Client:
    """And knows the password, as someone who once typed it in."""
    sam.post(page_of(ilse), form_of(ilse) | {"email": "sam2@staff.example"})
    return by_password("sam2@staff.example", PASSWORD)


def gives_a_role(sam: Client, ilse: User) -> Client:
    """To a person of a role that decides nothing."""
    helper = member("helper", "Support")
    appoint(helper)
    both = [group.pk for group in Group.objects.filter(name__in=roles.ROLES)]
    sam.post(page_of(helper), form_of(helper) | {"groups": both})
    return signed_in(helper)


def gives_a_right(sam: Client, ilse: User) -> Client:
    helper = member("helper", "Support")
    appoint(helper)
    right = Permission.objects.get(codename="decide_mint").pk
    sam.post(page_of(helper), form_of(helper) | {"user_permissions": [right]})
    return signed_in(helper)


def reactivates(sam: Client, ilse: User) -> Client:
    form = form_of(ilse)
    sam.post(page_of(ilse), {k: v for k, v in form.items() if k != "is_active"})
    sam.post(page_of(ilse), form)
    return signed_in(User.objects.get(pk=ilse.pk))


def device_of(user: User) -> TOTPDevice:
    with written_by(user.email or "", "page"):
        return TOTPDevice.objects.create(user=user, name="app", confirmed=True)


BY_PAGES: list[tuple[Callable[[Client, User], Client], str]] = [
    (makes_a_colleague, What.MADE),
    (promotes_a_client, What.MADE),
    (sets_the_password, What.PASSWORD),
    (gives_a_new_login, What.LOGIN),
    (gives_a_role, What.GROUP),
    (gives_a_right, What.RIGHT),
    (reactivates, What.REACTIVATED),
]


@pytest.mark.parametrize(("does", "what"), BY_PAGES)
def test_a_lone_superuser_approves_nothing_of_his_own(does, what, asked, sam, ilse):
    other = superuser("other@staff.example", type="INDIVIDUAL", first_name="Other")
    second = does(signed_in(sam), ilse)
    assert "cannot decide a request before" in approve(second, asked)
    assert nothing_is_decided()
    change = StaffChange.objects.filter(what=what, change__who=sam.email)[0]
    # Each approver gets a notice, and so does the person concerned.
    told = StaffNotice.objects.filter(change__recorded_in=change.recorded_in)
    assert {sam.email, other.email, change.person.email} <= set(
        told.values_list("recipient", flat=True)
    )
    home = signed_in(other).get("/admin/").content.decode()
    assert str(change.person.email) in home
    a_day_passes()
    assert "Approved and executed." in approve(second, asked)


@pytest.mark.parametrize(("does", "what"), BY_PAGES)
def test_nor_does_he_approve_what_he_files_in_their_name(does, what, sam, ilse, asked):
    """The other way round: the new colleague asks, and he approves."""
    second = does(signed_in(sam), ilse)
    as_whom = User.objects.get(pk=second.session["_auth_user_id"])
    right = Permission.objects.get(codename="file_mint")
    as_whom.user_permissions.add(right)
    theirs = file_request(asked.kind, asked.content, "Mint", "Mine", as_whom)
    assert "cannot be approved before" in approve(signed_in(sam), theirs)
    assert nothing_is_decided()
    # Rejecting it does no harm.
    page = reverse("admin:accounts_approvalrequest_change", args=[theirs.pk])
    signed_in(sam).post(page, {"do": "refuse", "reason": "No"})
    assert not theirs.decision.is_approved


def test_with_the_second_factor_on_no_colleague_passes_for_another(
    settings, asked, sam, ilse
):
    """He sets a password, and comes as far as her authenticator."""
    settings.PARTNER_API_STAFF_OTP = True
    device = device_of(ilse)
    client = by_password(sam.email or "", PASSWORD)
    enrol(client, sam)
    ask = client.post("/admin/ask/sign_in/", {"person": ilse.email, "reason": "Lost"})
    own = ApprovalRequest.objects.get(kind="SIGN_IN")
    assert ask.url == reverse("admin:accounts_approvalrequest_change", args=[own.pk])
    assert "You cannot approve your own request" in approve(client, own)
    second = sets_the_password(client, ilse)
    assert second.get("/admin/").url.startswith("/admin/login/")
    assert (
        second.get("/admin/", follow=True)
        .redirect_chain[-1][0]
        .startswith(reverse("admin:second_factor"))
    )
    assert TOTPDevice.objects.get(user=ilse) == device
    assert nothing_is_decided()


def test_two_colleagues_reset_a_sign_in(settings, sam, ilse):
    settings.PARTNER_API_STAFF_OTP = True
    device_of(ilse)
    with written_by(ilse.email or "", "page"):
        [code, *_] = make_codes(ilse)
    lost = by_password(ilse.email or "", PASSWORD)
    kim = member("kim", "Key manager")
    appoint(kim)
    request = file_request("SIGN_IN", reset_content(ilse), "Reset", "Lost", kim)
    client = by_password(sam.email or "", PASSWORD)
    enrol(client, sam)
    assert "Approved and executed." in approve(client, request)
    assert not TOTPDevice.objects.filter(user=ilse).exists()
    assert not RecoveryCode.objects.exists()
    # She, or who has her password, enrols another, and decides nothing for a day.
    assert code not in lost.get(reverse("admin:second_factor")).text
    enrol(lost, ilse)
    assert lost.get("/admin/").status_code == 200
    change = StaffChange.objects.get(person=ilse, what=What.DEVICE)
    assert change.change.who == sam.email
    told = StaffNotice.objects.filter(change__recorded_in=change.recorded_in)
    assert {sam.email, ilse.email} <= {*told.values_list("recipient", flat=True)}
    assert rests_until(ilse)


def test_a_reset_unlocks_and_is_superseded_once_the_person_has_left(sam, ilse):
    for _ in range(5):
        Client().post("/admin/login/", {"username": ilse.email, "password": "no"})
    kim = member("kim", "Key manager")
    appoint(kim)
    request = file_request("SIGN_IN", reset_content(ilse), "Reset", "Locked", kim)
    carry_out(approved(request, sam), ResetSignIn())
    by_password(ilse.email or "", PASSWORD)
    late = file_request("SIGN_IN", reset_content(ilse), "Reset", "Locked", kim)
    User.objects.filter(pk=ilse.pk).update(is_active=False)
    with pytest.raises(Superseded, match="no longer an active member"):
        carry_out(approved(late, sam), ResetSignIn())


def approved(request: ApprovalRequest, by: User) -> ApprovalRequest:
    decide(request, by, True)
    return request


@pytest.mark.parametrize("role", [*roles.ROLES, "Superuser"])
def test_one_person_resets_no_sign_in(role, ilse):
    """By the page of requests, by that of users, or by the application's role."""
    device = device_of(ilse)
    if role == "Superuser":
        eve = superuser("eve@staff.example", type="INDIVIDUAL", first_name="Eve")
    else:
        eve = member("eve", role)
        appoint(eve)
    client = signed_in(eve)
    client.post("/admin/ask/sign_in/", {"person": ilse.email, "reason": "Lost"})
    files = role in ("Key manager", "Superuser")
    assert ApprovalRequest.objects.filter(kind="SIGN_IN").count() == files
    for request in ApprovalRequest.objects.all():
        approve(client, request)
    client.post(
        reverse("admin:accounts_user_changelist"),
        {"action": "remove_second_factor", "_selected_action": [str(ilse.pk)]},
    )
    for refused, match in (
        (f"SELECT sign_in_reset('{ilse.pk}')", "needs an approval"),
        ("DELETE FROM otp_totp_totpdevice", "enrolled by its owner only"),
    ):
        with (
            pytest.raises(DatabaseError, match=match),
            written_by(eve.email or "", "page"),
        ):
            run(refused)
    assert [*TOTPDevice.objects.all()] == [device]
    assert nothing_is_decided()


def enrol(client: Client, user: User) -> None:
    page = reverse("admin:second_factor")
    client.get(page)
    device = TOTPDevice.objects.get(user=user)
    code = f"{TOTP(device.bin_key).token():06}"
    assert client.post(page, {"code": code}).status_code == 302


def test_no_page_shows_or_takes_a_device_of_somebody(sam, ilse):
    client = signed_in(sam)
    with written_by(ilse.email or "", "page"):
        device = TOTPDevice.objects.create(user=ilse, name="app", confirmed=True)
    address = "/admin/otp_totp/totpdevice/"
    for path in ("", "add/", f"{device.pk}/change/", f"{device.pk}/delete/"):
        form = {"user": str(ilse.pk), "name": "app", "confirmed": "on", "key": "00"}
        assert client.get(address + path).status_code == 404
        assert client.post(address + path, form).status_code == 404
    assert TOTPDevice.objects.get().key == device.key


def run(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


ADD_DEVICE = """
    INSERT INTO otp_totp_totpdevice (user_id, name, confirmed, key, step, t0, digits,
        tolerance, drift, last_t, throttling_failure_count)
    VALUES (%(ilse)s, 'app', {}, '00', 30, 0, 6, 1, 0, -1, 0)
"""


@pytest.mark.parametrize("author", ["", "sam@staff.example"])
@pytest.mark.parametrize(
    "statement",
    [
        ADD_DEVICE.format(True),
        "UPDATE otp_totp_totpdevice SET key = '11' WHERE user_id = %(helper)s",
        "UPDATE otp_totp_totpdevice SET user_id = %(ilse)s",
        "UPDATE otp_totp_totpdevice SET confirmed = TRUE WHERE user_id = %(helper)s",
        "UPDATE otp_totp_totpdevice SET tolerance = 9999",
    ],
)
def test_the_database_takes_a_device_from_its_owner_only(author, statement, ilse):
    helper = member("helper", "Support")
    with written_by(helper.email or "", "page"):
        TOTPDevice.objects.create(user=helper, name="app", confirmed=False)
    ids = {"ilse": ilse.pk, "helper": helper.pk}
    told = json.dumps({"who": author, "from": "page"}) if author else ""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('partnerapi.author', %s, TRUE)", [told])
        with (
            pytest.raises(DatabaseError, match="is enrolled by its owner only"),
            transaction.atomic(),
        ):
            cursor.execute(statement, ids)


STAFF_ROW = """
    INSERT INTO accounts_user (id, password, is_superuser, is_staff, is_active, type,
        email, first_name, last_name, address, postal_code, city)
    VALUES (%(new)s, '!', FALSE, TRUE, TRUE, 'INDIVIDUAL', 'new@staff.example', 'N',
        'N', '', '', '')
"""
OF_MINTS = """
    FROM auth_permission p WHERE p.codename = 'decide_mint'
"""
BY_SQL = {
    "a new member of staff": [
        STAFF_ROW,
        "INSERT INTO accounts_user_user_permissions (user_id, permission_id)"
        f" SELECT %(new)s, p.id {OF_MINTS}",
    ],
    "a right": [
        "INSERT INTO accounts_user_user_permissions (user_id, permission_id)"
        f" SELECT %(helper)s, p.id {OF_MINTS}",
    ],
    "a right of another": [
        "UPDATE accounts_user_user_permissions SET user_id = %(helper)s"
        " WHERE user_id = %(rita)s",
    ],
    "another right": [
        f"UPDATE accounts_user_user_permissions SET permission_id = (SELECT p.id"
        f" {OF_MINTS}) WHERE user_id = %(helper)s",
    ],
    "a group": [
        "INSERT INTO accounts_user_groups (user_id, group_id)"
        " SELECT %(helper)s, id FROM auth_group WHERE name = 'Compliance'",
    ],
    "another group": [
        "UPDATE accounts_user_groups SET group_id = (SELECT id FROM auth_group"
        " WHERE name = 'Compliance') WHERE user_id = %(helper)s",
    ],
    "a right of the group": [
        "INSERT INTO auth_group_permissions (group_id, permission_id)"
        f" SELECT (SELECT id FROM auth_group WHERE name = 'Support'), p.id {OF_MINTS}",
    ],
    "another right of the group": [
        "UPDATE auth_group_permissions SET permission_id = (SELECT p.id"
        f" {OF_MINTS}) WHERE id = (SELECT min(g.id) FROM auth_group_permissions g"
        " JOIN auth_group a ON a.id = g.group_id AND a.name = 'Support')",
    ],
    "rights of another group": [
        "UPDATE auth_group_permissions SET group_id = (SELECT id FROM auth_group"
        " WHERE name = 'Support') WHERE group_id = (SELECT id FROM auth_group"
        f" WHERE name = 'Compliance') AND permission_id = (SELECT p.id {OF_MINTS})",
    ],
    "another id": [
        "UPDATE accounts_user_groups SET user_id = %(new)s WHERE user_id = %(ilse)s",
        "UPDATE accounts_user SET id = %(new)s WHERE id = %(ilse)s",
    ],
}
WHO_DECIDES = {
    "a new member of staff": "new", "another id": "new",
}  # fmt: skip


@pytest.mark.parametrize("forges_the_author", [False, True])
@pytest.mark.parametrize("way", BY_SQL)
def test_the_application_shortens_no_ones_day(way, forges_the_author, asked, ilse):
    """Whatever author it names; also at the same moment, in one transaction."""
    helper, rita = member("helper", "Support"), member("rita")
    read = Permission.objects.get(codename="view_country")
    helper.user_permissions.add(read)
    rita.user_permissions.add(Permission.objects.get(codename="decide_mint"))
    for user in (helper, rita):
        appoint(user)
    new = "0197d0a6-0000-7000-8000-000000000001"
    ids = {"new": new, "helper": helper.pk, "rita": rita.pk, "ilse": ilse.pk}
    if way == "another id":
        # What names her stays behind.
        tamper("DELETE FROM accounts_staffnotice", "DELETE FROM accounts_staffchange")
    decider = ids[WHO_DECIDES.get(way, "helper")]
    with transaction.atomic(), connection.cursor() as cursor:
        if forges_the_author:
            who = {"new": "new", "helper": "helper"}[WHO_DECIDES.get(way, "helper")]
            told = {"who": f"{who}@staff.example", "from": "migrate", "request": ""}
            cursor.execute(
                "SELECT set_config('partnerapi.author', %s, TRUE)", [json.dumps(told)]
            )
        for statement in BY_SQL[way]:
            cursor.execute(statement, ids)
        with (
            pytest.raises(DatabaseError, match="cannot decide a request before"),
            transaction.atomic(),
        ):
            cursor.execute(DECIDE, {"request": asked.pk, "decider": decider})
    assert nothing_is_decided()


DECIDE = """
    SELECT approvals_decide_requests(ARRAY[%(request)s::uuid], %(decider)s, TRUE, '')
"""


def test_one_statement_is_no_way_past_it(asked, ilse):
    helper = member("helper", "Support")
    appoint(helper)
    both = f"""
        WITH given AS (
            INSERT INTO accounts_user_user_permissions (user_id, permission_id)
            SELECT %(decider)s, p.id {OF_MINTS} RETURNING user_id
        )
        SELECT approvals_decide_requests(ARRAY[%(request)s::uuid], user_id, TRUE, '')
        FROM given;
        SET CONSTRAINTS ALL IMMEDIATE
    """
    with (
        pytest.raises(DatabaseError, match="cannot decide|right to decide"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(both, {"request": asked.pk, "decider": helper.pk})
    assert nothing_is_decided()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM accounts_staffchange",
        "UPDATE accounts_staffchange SET at = at - interval '1 day'",
        "INSERT INTO accounts_staffchange (person_id, what, detail, at, change_id,"
        " recorded_in) SELECT person_id, 'APPOINTED', '', at, change_id, recorded_in"
        " FROM accounts_staffchange LIMIT 1",
        "SELECT accounts_appoint(id) FROM accounts_user",
        "SELECT accounts_note_staff(id, 'APPOINTED', '', 1, '') FROM accounts_user",
        "DELETE FROM accounts_staffnotice",
        "UPDATE accounts_staffnotice SET recipient = 'sam@staff.example'",
        "DELETE FROM accounts_rowchange",
        "INSERT INTO accounts_rowchange SELECT * FROM accounts_rowchange",
    ],
)
def test_the_application_writes_no_such_row(statement, ilse):
    with pytest.raises(DatabaseError, match="permission denied"):
        run(statement)


def test_an_approval_is_not_used_that_was_given_while_a_change_was_under_way(
    asked, ilse
):
    decide(asked, ilse, is_approved=True)
    tamper(
        "INSERT INTO accounts_staffchange (person_id, what, detail, at, change_id,"
        " recorded_in) SELECT d.decided_by_id, 'PASSWORD', '',"
        " d.decided_at - interval '1 second', (SELECT max(id) FROM accounts_rowchange),"
        " 0 FROM accounts_approvaldecision d"
    )
    with pytest.raises(NotApproved, match="cannot decide a request before"):
        carry_out(asked, EnterUnits())


def test_own_changes_start_no_day(settings, asked, ilse, monkeypatch):
    """Of one's password, address and device; also the new digest at a sign-in."""
    settings.PARTNER_API_STAFF_OTP = True
    before = StaffChange.objects.count()
    client = by_password(ilse.email or "", PASSWORD)
    enrol(client, ilse)
    words = {"old_password": PASSWORD, "new_password1": "another horse battery"}
    words["new_password2"] = words["new_password1"]
    assert client.post("/admin/password_change/", words).status_code == 302
    ilse.refresh_from_db()
    assert ilse.check_password("another horse battery")
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 11)
    again = by_password(ilse.email or "", "another horse battery")
    device = TOTPDevice.objects.get(user=ilse)
    tamper("UPDATE otp_totp_totpdevice SET last_t = -1")
    code = f"{TOTP(device.bin_key).token():06}"
    assert again.post(reverse("admin:second_factor"), {"code": code}).status_code == 302
    ilse.refresh_from_db()
    assert "$11$" in ilse.password
    assert StaffChange.objects.count() == before
    assert "Approved and executed." in approve(again, asked)


def test_who_changes_staff_without_saying_so_is_somebody_else(asked, ilse):
    """As `changepassword` at a shell does."""
    ilse.set_password("another horse battery")
    ilse.save()
    with pytest.raises(NotApproved, match="cannot decide a request before"):
        decide(asked, ilse, is_approved=True)

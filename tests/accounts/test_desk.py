"""Members of a partner's desk: two people invite one, and no one else gets its keys."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts.access import Scope
from accounts.approvals.four_eyes import (
    NotApproved,
    Superseded,
    carrying,
    decide,
    file_request,
)
from accounts.approvals.models import ApprovalKind
from accounts.approvals.verification import verify
from accounts.desk import keys
from accounts.desk.invitations import (
    InviteToDesk,
    desk_content,
    desk_title,
    end_membership,
    invitation_path,
    invited,
)
from accounts.desk.models import DeskKey, DeskMember, DeskNotice
from accounts.desk.notices import send_desk_notices
from accounts.desk.passkeys import bytes_to_sign, check_member, new_challenge, use
from accounts.keys.models import ApiKey
from accounts.passkeys.signing import NotSigned
from accounts.people.models import User
from partnerapi.core.database import execute
from partnerapi.core.sparing_log import RefusalFilter
from partnerapi.sandbox.data.approvals import (
    ASKER,
    DECIDER,
    carry_out_requests,
    file_and_approve,
)
from tests.accounts.test_four_eyes import RIGHTS, member
from tests.characters import World
from tests.desks import (
    active_member,
    invited_member,
    let_rest,
    new_device,
    set_passkey,
    signature,
)
from tests.owner import tamper

MAIA = "maia@broker.example"
READS = [Scope.ISSUERS_READ.value]
DESK = "partner's desk"
INVITE = "SELECT desk_invite(%s, %s, %s, %s)"


def in_a_month() -> Any:
    return timezone.now() + timedelta(30)


def test_one_person_alone_invites_no_one(world: World):
    ana = member("ana", *RIGHTS)
    content = desk_content(world.partner, MAIA, READS)
    asked = file_request(ApprovalKind.DESK, content, "Maia", "So", ana)
    with pytest.raises(NotApproved):
        decide(asked, ana, is_approved=True)
    with pytest.raises(NotApproved, match="approval"), carrying([asked.pk]):
        InviteToDesk().execute(asked)
    # The policy may let one person issue a key; it lets no one open a desk.
    tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
    with pytest.raises(NotApproved, match="always needs"), carrying([asked.pk]):
        InviteToDesk().execute(asked)
    assert not DeskMember.objects.exists()


def other(content: dict[str, Any], world: World, what: str) -> dict[str, Any]:
    return (
        content
        | {
            "partner": {"partner": str(world.observer.pk)},
            "email": {"email": "ana@broker.example"},
            "scopes": {"scopes": [Scope.CASH_WRITE.value]},
        }[what]
    )


@pytest.mark.parametrize("what", ["partner", "email", "scopes"])
def test_two_people_approve_exactly_this(what: str, world: World):
    content = desk_content(world.partner, MAIA, READS)
    requests = file_and_approve(ApprovalKind.DESK, content)
    requests[0].content = other(content, world, what)
    with pytest.raises(NotApproved, match="says the same"), carrying([requests[0].pk]):
        InviteToDesk().execute(requests[0])
    assert not DeskMember.objects.exists()


@pytest.mark.parametrize("is_active", [True, False])
def test_an_address_of_staff_is_refused(is_active: bool, world: World):
    email = "ana@staff.example"
    requests = file_and_approve(
        ApprovalKind.DESK, desk_content(world.partner, email, READS)
    )
    ana = member("ana", *RIGHTS)
    User.objects.filter(pk=ana.pk).update(is_active=is_active)
    with pytest.raises(Superseded, match="member of staff"):
        InviteToDesk().preview(requests[0])
    # The database refuses it, whatever Python has seen.
    with pytest.raises(NotApproved, match="staff"), carrying([requests[0].pk]):
        execute(INVITE, [requests[0].pk, world.partner.pk, email, READS])
    assert not DeskMember.objects.exists()


@pytest.mark.parametrize(
    "email", ["Maia@broker.example", "mаia@broker.example", "maia", "a b@c.example"]
)
def test_an_address_is_ascii_in_lower_case(email: str, world: World):
    with pytest.raises(IntegrityError, match="desk_member_address_is_ascii"):
        invited_member(world.partner, email)


def test_an_invitation_sets_one_passkey_that_rests_a_day(
    world: World, settings, mailoutbox
):
    settings.EMAIL_URL = "memorymail://"
    active_member(world.partner, "joao@broker.example")
    active_member(world.observer, "rita@reader.example")
    DeskNotice.objects.update(sent_at=timezone.now())
    maia = invited_member(world.partner, MAIA, READS)
    assert send_desk_notices(60) == (1, 0)
    [mail] = mailoutbox
    assert mail.to == [MAIA]
    path = invitation_path(maia)
    assert f"{settings.PARTNER_API_SITE}{path}" in mail.body
    assert invited(path.rpartition("/")[2]) == maia
    assert invited(f"{maia.pk}:" + "A" * 43) is None
    mailoutbox.clear()

    before = timezone.now()
    device = new_device()
    set_passkey(maia, device)
    assert maia.usable_from is not None
    assert maia.usable_from >= before + timedelta(hours=24)
    assert invited(path.rpartition("/")[2]) is None
    with pytest.raises(NotSigned, match="was used"):
        set_passkey(maia, new_device())
    # All that know the partner or approved the address hear of it.
    send_desk_notices(60)
    assert {mail.to[0] for mail in mailoutbox} == {
        MAIA, "joao@broker.example", ASKER, DECIDER,
    }  # fmt: skip
    assert all(f"{MAIA} has set a passkey" in mail.body for mail in mailoutbox)
    with pytest.raises(NotSigned, match="cannot be used yet"):
        signature(device)
    let_rest(maia, timedelta(hours=23, minutes=59))
    with pytest.raises(NotSigned, match="cannot be used yet"):
        signature(device)
    let_rest(maia, timedelta(minutes=1))
    assert signature(device).member == maia


def test_the_day_of_rest_stands_in_the_table(world: World):
    maia = invited_member(world.partner, MAIA)
    set_passkey(maia, new_device())
    with pytest.raises(IntegrityError, match="desk_passkey_rests_a_day"):
        tamper(
            "UPDATE accounts_deskmember SET usable_from = usable_from - interval '1s'"
        )


def test_an_invitation_expires_and_can_be_sent_again(world: World):
    maia = invited_member(world.partner, MAIA)
    with pytest.raises(Superseded, match="or is invited"):
        invited_member(world.partner, MAIA)
    tamper("UPDATE accounts_deskmember SET expires_at = now()")
    assert invited(invitation_path(maia).rpartition("/")[2]) is None
    with pytest.raises(NotSigned, match="has expired"):
        set_passkey(maia, new_device())
    again = invited_member(world.partner, MAIA)
    maia.refresh_from_db()
    assert (maia.ended_by, again.ended_at) == ("expiry", None)


def test_one_address_is_one_member(world: World):
    requests = file_and_approve(
        ApprovalKind.DESK, *[desk_content(world.partner, MAIA, READS)] * 2
    )
    arguments = [world.partner.pk, MAIA, READS]
    with carry_out_requests(requests):
        execute(INVITE, [requests[0].pk, *arguments])
        with pytest.raises(IntegrityError, match="one_desk_member"):
            execute(INVITE, [requests[1].pk, *arguments])
        connection.needs_rollback = False
        connection.set_rollback(True)


def test_a_member_who_becomes_staff_uses_no_desk(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    waits = invited_member(world.partner, "joao@broker.example")
    for email in (MAIA, "joao@broker.example"):
        User.objects.create_user(
            email, type=User.Type.INDIVIDUAL, first_name="A", last_name="B",
            is_staff=True,
        )  # fmt: skip
    with pytest.raises(NotSigned, match="of no desk"):
        signature(device)
    with pytest.raises(NotSigned, match="withdrawn"):
        set_passkey(waits, new_device())


def test_only_staff_with_the_right_end_a_membership(world: World):
    maia, _ = active_member(world.partner, MAIA, READS)
    clerk = member("clerk", "view_deskmember")
    with pytest.raises(IntegrityError, match="change_deskmember"):
        end_membership(maia, clerk.email or "")
    connection.needs_rollback = False


def test_an_ended_member_issues_nothing(world: World):
    maia, device = active_member(world.partner, MAIA, READS)
    signed = signature(device)
    ana = member("ana", "change_deskmember")
    assert end_membership(maia, ana.email or "")
    assert not end_membership(maia, ana.email or "")
    with pytest.raises(NotSigned, match="cannot be used now"):
        keys.issue(signed, READS, in_a_month())
    with pytest.raises(NotSigned, match="of no desk"):
        signature(device)
    assert not ApiKey.objects.exists()


def test_a_partner_that_is_switched_off_has_no_desk(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    world.partner.is_active = False
    world.partner.save()
    with pytest.raises(NotSigned, match="of no desk"):
        signature(device)


def test_a_member_issues_keys_within_the_approved_scopes(world: World):
    maia, device = active_member(world.partner, MAIA, READS)
    key, token = keys.issue(signature(device), READS, in_a_month())
    found = ApiKey.objects.authenticate(token, timezone.now())
    assert (found.pk, found.partner, found.scopes) == (key.pk, world.partner, READS)
    assert DeskKey.objects.get().member == maia
    assert DeskNotice.objects.filter(what="KEY").get().recipient == MAIA


@pytest.mark.parametrize(
    ("scopes", "days", "why"),
    [
        ([Scope.CASH_WRITE.value], 30, "approved for the member"),
        ([*READS, Scope.CASH_READ.value], 30, "approved for the member"),
        (["root"], 30, "approved for the member"),
        ([], 30, "approved for the member"),
        (READS, 367, "within 366 days"),
        (READS, -1, "within 366 days"),
    ],
)
def test_other_keys_are_refused(scopes: list[str], days: int, why: str, world: World):
    _, device = active_member(world.partner, MAIA, READS)
    with pytest.raises(NotSigned, match=why):
        keys.issue(signature(device), scopes, timezone.now() + timedelta(days))
    assert not ApiKey.objects.exists()


def test_a_key_of_the_desk_gets_no_further_scope(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    key, _ = keys.issue(signature(device), READS, in_a_month())
    with pytest.raises(IntegrityError, match="gets no further scope"):
        key.narrow(scopes=[*READS, "cash:write"])


def test_a_signature_counts_once(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    signed = signature(device)
    use(signed)
    for repeated in (use, lambda it: keys.issue(it, READS, in_a_month())):
        with pytest.raises(NotSigned, match="was used before"):
            repeated(signed)
    # Nor does one that was asked for before the last.
    challenge = new_challenge("test")
    answer = device.sign_challenge(bytes_to_sign(challenge))
    use(signature(device))
    with pytest.raises(NotSigned):
        use(check_member(challenge, "test", answer))


def test_a_challenge_is_for_one_purpose_and_five_minutes(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    challenge = new_challenge("sign-in")
    answer = device.sign_challenge(bytes_to_sign(challenge))
    for wrong in (
        (challenge, "issue"),
        (challenge + "x", "sign-in"),
        (challenge.replace("sign-in", "issue"), "issue"),
    ):
        with pytest.raises(NotSigned, match="waited too long"):
            check_member(*wrong, answer)
    other = new_challenge("sign-in")
    with pytest.raises(NotSigned, match="not accepted"):
        check_member(other, "sign-in", answer)


def test_a_desk_issues_twenty_active_keys(world: World):
    _, device = active_member(world.partner, MAIA, READS)
    for _ in range(20):
        last, _ = keys.issue(signature(device), READS, in_a_month())
    with pytest.raises(NotSigned, match="20 active keys"):
        keys.issue(signature(device), READS, in_a_month())
    last.revoke(timezone.now())
    keys.issue(signature(device), READS, in_a_month())


def test_a_member_revokes_keys_of_the_partner_alone(world: World):
    maia, device = active_member(world.partner, MAIA, READS)
    _, others = active_member(world.observer, "rita@reader.example", READS)
    mine, _ = keys.issue(signature(device), READS, in_a_month())
    theirs, _ = keys.issue(signature(others), READS, in_a_month())
    assert keys.revoke(maia, theirs.pk, timezone.now()) is None
    assert keys.revoke(maia, mine.pk, timezone.now()) == mine
    assert keys.revoke(maia, mine.pk, timezone.now()) is None
    assert [*ApiKey.objects.filter(revoked_at=None)] == [theirs]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO accounts_deskmember (id, partner_id, email, scopes, request_id,"
        " expires_at, ended_by, domain) SELECT gen_random_uuid(), partner_id,"
        " 'x@y.example', scopes, request_id, now(), '', '' FROM accounts_deskmember",
        "UPDATE accounts_deskmember SET usable_from = now()",
        "UPDATE accounts_deskmember SET scopes = '{cash:write}'",
        "DELETE FROM accounts_deskmember",
        "INSERT INTO accounts_deskkey (key_id, member_id)"
        " SELECT gen_random_uuid(), id FROM accounts_deskmember",
        "UPDATE accounts_deskkey SET member_id = member_id",
        "UPDATE accounts_desknotice SET recipient = 'x@y.example'",
        "INSERT INTO accounts_desknotice (member_id, what, recipient, error)"
        " SELECT id, 'INVITED', 'x@y.example', '' FROM accounts_deskmember",
        "DELETE FROM accounts_desknotice",
    ],
)
def test_the_application_changes_desks_by_functions_alone(statement: str, world: World):
    active_member(world.partner, MAIA, READS)
    with pytest.raises(ProgrammingError, match="permission denied"):
        execute(statement)


def test_a_member_of_a_desk_lends_its_approval_to_no_other_key(world: World):
    active_member(world.partner, MAIA, READS)
    with pytest.raises(IntegrityError, match="approval by a second person"):
        ApiKey.objects.issue(world.partner, READS, in_a_month())


@pytest.mark.parametrize(
    "alias", ["ana+desk@staff.example", "ANA@staff.example", '"ana"@staff.example']
)
def test_another_spelling_of_a_staff_address_is_refused(alias: str, world: World):
    member("ana", *RIGHTS)
    with pytest.raises((Superseded, IntegrityError)), transaction.atomic():
        invited_member(world.partner, alias, READS)
    assert not DeskMember.objects.exists()


def test_no_log_keeps_the_secret_of_an_invitation(
    world: World, client: Client, caplog: pytest.LogCaptureFixture
):
    maia = invited_member(world.partner, MAIA, READS)
    path = invitation_path(maia)
    secret = path.rpartition("/")[2]
    kept = RefusalFilter()
    caplog.handler.addFilter(kept)
    response = client.post(path, {"answer": "{}"})
    caplog.handler.removeFilter(kept)
    assert response.status_code == 403
    assert "/partner/invitation/…" in caplog.text
    assert secret not in caplog.text


def test_an_e_mail_is_tried_again(world: World, settings, mailoutbox):
    settings.EMAIL_URL = "memorymail://"
    maia = invited_member(world.partner, MAIA)
    tamper("UPDATE accounts_desknotice SET recipient = E'x\\ny@z.example'")
    assert send_desk_notices(60) == (0, 1)
    notice = DeskNotice.objects.get()
    assert (notice.tries, notice.sent_at) == (1, None)
    assert notice.error.startswith("BadHeaderError")
    assert notice.next_try_at > timezone.now()
    tamper(f"UPDATE accounts_desknotice SET next_try_at = now(), recipient = '{MAIA}'")
    assert send_desk_notices(60) == (1, 0)
    assert mailoutbox[-1].to == [MAIA]
    assert maia.state(timezone.now()) == "invited"


def test_a_title_names_address_partner_and_scopes(world: World):
    assert desk_title(world.partner, MAIA, READS) == (
        "maia@broker.example at the desk of Broker One (broker_one), keys with "
        "issuers:read"
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_deskmember SET scopes = '{cash:write}'",
        "UPDATE accounts_deskmember SET email = 'own@private.example'",
        "UPDATE accounts_deskmember SET request_id = gen_random_uuid()",
        "UPDATE accounts_apikey SET scopes = '{cash:write}'",
        "UPDATE accounts_apikey SET created_at = now() - interval '1 day'",
        "UPDATE accounts_user SET email = 'maia@broker.example' WHERE is_staff"
        " AND email = 'operations@sandbox.example'",
    ],
)
def test_the_nightly_check_finds_what_was_written_past_the_functions(
    statement: str, world: World
):
    _, device = active_member(world.partner, MAIA, READS)
    keys.issue(signature(device), READS, in_a_month())
    assert [found.rule for found in verify() if found.breaches] == []
    assert tamper(statement) == 1
    assert [f for f in verify() if f.breaches and DESK in f.rule]

import io

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.accounts.models import Account, Actor
from accounts.approvals.four_eyes import NotApproved, decide
from accounts.approvals.models import ApprovalRequest
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.core.authors import written_by
from tests.characters import START
from tests.typing_in import PASSWORD, give_password, typing

ANA, BEN, GONE = "ana@staff.example", "ben@staff.example", "gone@staff.example"


@pytest.fixture
def account(db: None) -> Account:
    for email in (ANA, BEN, GONE):
        User.objects.create_user(
            email,
            type=User.Type.INDIVIDUAL,
            first_name=email.partition("@")[0].title(),
            last_name="Staff",
            is_staff=True,
            is_active=email != GONE,
        )
    rights = Permission.objects.filter(
        codename__in=["change_account", "file_closing", "decide_closing"]
    )
    for user in User.objects.filter(is_staff=True):
        user.user_permissions.add(*rights)
        give_password(user)
    acme = Partner.objects.create(login="acme", name="Acme")
    otto = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    return Account.objects.open(acme, otto, Actor(ANA, is_staff=True), START)


def change(account: object, status: str, *arguments: str, staff: str = ANA) -> str:
    output = io.StringIO()
    command = ["account", "status", str(account), status, f"--staff={staff}"]
    with typing():
        call_command(*command, *arguments, stdout=output)
    return output.getvalue().strip()


def brought(account: Account, *statuses: str) -> Account:
    alone = Actor(ANA, is_staff=True)
    for status in statuses:
        if status == "CLOSED":
            close(account)
        else:
            account.change_status(status, alone, None)
    return account


def asked(account: Account, status: str = "CLOSED") -> ApprovalRequest:
    account.refresh_from_db()
    before = ApprovalRequest.objects.count()
    change(account.pk, status, "--reason=By letter", "--request")
    assert ApprovalRequest.objects.count() == before + 1
    return ApprovalRequest.objects.latest("pk")


def close(account: Account) -> None:
    request = asked(account)
    decide(request, User.objects.get(email=BEN), is_approved=True)
    change(account.pk, "CLOSED", "--reason=By letter", f"--approval={request.pk}")


def moves(account: Account) -> list[tuple[object, ...]]:
    """The history after the opening."""
    return list(
        account.history.filter(number__gt=1).values_list(
            "previous_status", "status", "reason", "actor", "is_staff", "approved_by"
        )
    )


@pytest.mark.parametrize("named", ["{id}", "Account|{id}"])
def test_changes_the_status_in_the_name_of_staff(account: Account, named: str):
    said = change(named.format(id=account.pk), "active", "--reason= Identity checked ")
    assert said == (
        f"Account|{account.pk} of Otto Lund at Acme (acme) changed from PENDING to "
        "ACTIVE."
    )
    account.refresh_from_db()
    assert (account.status, account.status_reason) == ("ACTIVE", "Identity checked")
    assert moves(account) == [("PENDING", "ACTIVE", "Identity checked", ANA, True, "")]


def test_a_dry_run_judges_the_move_and_writes_nothing(account: Account):
    assert change(account.pk, "ACTIVE", "--dry-run") == (
        f"Account|{account.pk} of Otto Lund at Acme (acme) would change from PENDING "
        "to ACTIVE (dry run: nothing was written)"
    )
    with pytest.raises(CommandError, match="cannot become SUSPENDED"):
        change(account.pk, "SUSPENDED", "--dry-run")
    account.refresh_from_db()
    assert (account.status, account.changes, moves(account)) == ("PENDING", 1, [])


def test_the_status_that_it_has_changes_nothing(account: Account):
    assert change(account.pk, "PENDING") == (
        f"Account|{account.pk} of Otto Lund at Acme (acme) is already PENDING; nothing "
        "was written."
    )
    assert moves(account) == []


@pytest.mark.parametrize("before", [["ACTIVE"], ["ACTIVE", "SUSPENDED"]])
def test_closes_with_a_second_person(account: Account, before: list[str]):
    brought(account, *before)
    close(account)
    assert moves(account)[-1] == (before[-1], "CLOSED", "By letter", ANA, True, BEN)


@pytest.mark.parametrize("before", [["ACTIVE"], ["ACTIVE", "SUSPENDED"]])
def test_does_not_close_without_one(account: Account, before: list[str]):
    brought(account, *before)
    with pytest.raises(CommandError) as refusal:
        change(account.pk, "CLOSED")
    assert str(refusal.value) == (
        f"The account is {before[-1]}; CLOSED needs the approval of a second member of "
        "staff: use --request. Nothing was written."
    )
    account.refresh_from_db()
    assert account.status == before[-1]
    assert len(moves(account)) == len(before)


@pytest.mark.parametrize("second", [ANA, GONE])
def test_the_second_person_is_somebody_else_on_the_staff(account: Account, second: str):
    brought(account, "ACTIVE")
    request = asked(account)
    with pytest.raises(NotApproved, match="other than the one that filed it"):
        decide(request, User.objects.get(email=second), is_approved=True)
    with pytest.raises(CommandError, match="there is no approved request of this kind"):
        change(account.pk, "CLOSED", f"--approval={request.pk}")
    account.refresh_from_db()
    assert account.status == "ACTIVE"


@pytest.mark.parametrize(
    ("before", "status", "allowed"),
    [
        ([], "SUSPENDED", "ACTIVE, REJECTED"),
        ([], "CLOSED", "ACTIVE, REJECTED"),
        (["ACTIVE"], "REJECTED", "SUSPENDED, CLOSED with --approval"),
        (["ACTIVE", "SUSPENDED"], "PENDING", "ACTIVE, CLOSED with --approval"),
        (["ACTIVE", "CLOSED"], "ACTIVE", "nothing, it is final"),
        (["REJECTED"], "ACTIVE", "nothing, it is final"),
    ],
)
def test_refuses_other_moves_and_tells_which_there_are(
    account: Account, before: list[str], status: str, allowed: str
):
    brought(account, *before)
    was = ["PENDING", *before][-1]
    with pytest.raises(CommandError) as refusal:
        change(account.pk, status)
    assert str(refusal.value) == (
        f"The account is {was} and cannot become {status}; allowed: {allowed}. "
        "Nothing was written."
    )
    account.refresh_from_db()
    assert (account.status, len(moves(account))) == (was, len(before))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["019376a2-5c1e-7b04-9c55-2f0e6f6f1d11", "ACTIVE"], "no account 019376a2"),
        (["User|019376a2-5c1e-7b04-9c55-2f0e6f6f1d11", "ACTIVE"], "is not the id of"),
        (["otto", "ACTIVE"], "otto is not the id of an account"),
        (["{id}", "OPEN"], "invalid choice: 'OPEN'"),
        (["{id}", "ACTIVE", "--reason="], "--reason: 0 characters; give 1 to 500"),
        (["{id}", "ACTIVE", f"--reason={'r' * 501}"], "--reason: 501 characters"),
    ],
)
def test_refuses_what_makes_no_sense(
    account: Account, arguments: list[str], reason: str
):
    named, *others = arguments
    with pytest.raises(CommandError, match=reason):
        change(named.format(id=account.pk), *others)
    assert moves(account) == []


def test_refuses_who_is_not_active_staff(account: Account):
    with pytest.raises(CommandError, match=f"--staff {GONE}: no active member of sta"):
        change(account.pk, "ACTIVE", staff=GONE)
    assert moves(account) == []


def test_a_request_wants_the_code_of_a_second_factor_where_one_is_needed(
    settings, account: Account
):
    brought(account, "ACTIVE")
    settings.PARTNER_API_STAFF_OTP = True
    ana = User.objects.get(email=ANA)
    ask = ["account", "status", str(account.pk), "CLOSED", f"--staff={ANA}"]
    ask += ["--reason=By letter", "--request"]

    def refused(*lines: str) -> None:
        with typing(*lines), pytest.raises(CommandError, match="enter their password"):
            call_command(*ask)
        assert not ApprovalRequest.objects.exists()

    refused(PASSWORD, "000000")
    with written_by(ANA, "page"):
        device = TOTPDevice.objects.create(user=ana, name="app", confirmed=True)
    code = f"{TOTP(device.bin_key).token():06}"
    refused("a wrong password", code)
    refused(PASSWORD, "")
    TOTPDevice.objects.update(throttling_failure_count=0)
    with typing(PASSWORD, code):
        call_command(*ask)
    assert ApprovalRequest.objects.get().filed_by == ana

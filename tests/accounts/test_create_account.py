import io

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command

from accounts.accounts.models import Account, AccountStatusChange
from accounts.keys.models import Partner
from accounts.people.models import User

LEI = "529900T8BM49AURSDO55"


@pytest.fixture
def acme(db: None) -> Partner:
    return Partner.objects.create(login="acme", name="Acme")


@pytest.fixture(autouse=True)
def staff(db: None) -> User:
    ana = User.objects.create_user(
        "ana@staff.example",
        type=User.Type.INDIVIDUAL,
        first_name="Ana",
        last_name="Staff",
        is_staff=True,
    )
    ana.user_permissions.add(Permission.objects.get(codename="change_account"))
    return ana


@pytest.fixture
def otto(db: None) -> User:
    return User.objects.create(
        type=User.Type.INDIVIDUAL,
        email="otto@example.com",
        first_name="Otto",
        last_name="Lund",
    )


@pytest.fixture
def lumen(db: None) -> User:
    return User.objects.create(
        type=User.Type.COMPANY, company_name="Lumen Optique SA", lei=LEI
    )


def create(*arguments: str, staff: str = "ana@staff.example") -> str:
    output = io.StringIO()
    call_command("account", "open", *arguments, f"--staff={staff}", stdout=output)
    return output.getvalue().strip()


def test_opens_a_pending_account_in_the_name_of_staff(acme: Partner, otto: User):
    said = create("acme", "otto@example.com")
    account = Account.objects.get()
    assert said == (
        f"Opened Account|{account.pk} for Otto Lund at Acme (acme); it is PENDING. "
        f"Next: account status {account.pk} ACTIVE"
    )
    assert (account.partner, account.user, account.status) == (acme, otto, "PENDING")
    [opening] = AccountStatusChange.objects.values_list(
        "account", "number", "previous_status", "status", "actor", "is_staff"
    )
    assert opening == (account.pk, 1, None, "PENDING", "ana@staff.example", True)


@pytest.mark.parametrize("named", [LEI, LEI.lower(), "{id}", "User|{id}"])
def test_finds_the_client_by_lei_or_id(acme: Partner, lumen: User, named: str):
    create("acme", named.format(id=lumen.pk))
    assert Account.objects.get().user == lumen


def test_an_address_is_found_in_any_case(acme: Partner, otto: User):
    create("acme", "Otto@Example.com", staff="Ana@Staff.example")
    assert Account.objects.get().user == otto
    assert AccountStatusChange.objects.get().actor == "ana@staff.example"


def test_a_dry_run_checks_and_writes_nothing(acme: Partner, otto: User):
    assert create("acme", "otto@example.com", "--dry-run") == (
        "An account for Otto Lund at Acme (acme) would be opened "
        "(dry run: nothing was written)"
    )
    assert Account.objects.count() == AccountStatusChange.objects.count() == 0


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_refuses_a_second_open_account(acme: Partner, otto: User, more: list[str]):
    create("acme", "otto@example.com")
    account = Account.objects.get()
    with pytest.raises(CommandError) as refusal:
        create("acme", "otto@example.com", *more)
    assert str(refusal.value) == (
        f"Otto Lund already has Account|{account.pk} at Acme (acme); it is PENDING. "
        "Nothing was written."
    )
    assert Account.objects.count() == AccountStatusChange.objects.count() == 1


def test_opens_another_after_a_final_status_or_with_another_partner(
    acme: Partner, otto: User
):
    create("acme", "otto@example.com")
    call_command(
        "account",
        "status",
        str(Account.objects.get().pk),
        "REJECTED",
        "--staff=ana@staff.example",
        stdout=io.StringIO(),
    )
    create("acme", "otto@example.com")
    Partner.objects.create(login="nova", name="Nova")
    create("nova", "otto@example.com")
    opened = Account.objects.order_by("created_at", "id")
    assert list(opened.values_list("partner__login", "status")) == [
        ("acme", "REJECTED"),
        ("acme", "PENDING"),
        ("nova", "PENDING"),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["missing", "otto@example.com"], "There is no integration account missing"),
        (["off", "otto@example.com"], "off is switched off"),
        (["acme", "who@example.com"], "There is no user who@example.com"),
        (["acme", LEI], f"There is no user {LEI}"),
        (["acme", "019376a2-5c1e-7b04-9c55-2f0e6f6f1d11"], "There is no user 019376a2"),
        (["acme", "Otto Lund"], "Otto Lund is neither an email address nor a wallet"),
    ],
)
def test_refuses_what_is_not_there(
    acme: Partner, otto: User, arguments: list[str], reason: str
):
    Partner.objects.create(login="off", name="Off", is_active=False)
    with pytest.raises(CommandError, match=reason):
        create(*arguments)
    assert Account.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "staff"),
    [
        ({}, "otto@example.com"),
        ({}, "nobody@staff.example"),
        ({"is_active": False}, "ana@staff.example"),
    ],
)
def test_refuses_who_is_not_active_staff(
    acme: Partner, otto: User, change: dict[str, bool], staff: str
):
    if change:
        User.objects.filter(email=staff).update(**change)
    with pytest.raises(CommandError, match=f"--staff {staff}: no active member of sta"):
        create("acme", "otto@example.com", staff=staff)
    assert Account.objects.count() == 0


def test_refuses_staff_without_the_right(acme: Partner, otto: User, staff: User):
    staff.user_permissions.clear()
    with pytest.raises(CommandError, match="does not have the right accounts.change_a"):
        create("acme", "otto@example.com")
    assert Account.objects.count() == 0

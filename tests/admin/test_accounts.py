import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.accounts.models import Account, AccountStatusChange, Actor
from accounts.keys.models import Partner
from accounts.people.models import User
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import ASKER
from tests.approved import asker
from tests.characters import START
from tests.owner import appoint

LIST = reverse("admin:accounts_account_changelist")
ANA = "ana@staff.example"
PATHS = {
    "PENDING": [],
    "ACTIVE": ["ACTIVE"],
    "SUSPENDED": ["ACTIVE", "SUSPENDED"],
    "CLOSED": ["ACTIVE", "CLOSED"],
    "REJECTED": ["REJECTED"],
}


def signed_in(*rights: str) -> Client:
    user = User.objects.create_user(
        ANA,
        type=User.Type.INDIVIDUAL,
        first_name="Ana",
        last_name="Staff",
        is_staff=True,
    )
    user.user_permissions.set(Permission.objects.filter(codename__in=rights))
    appoint(user)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def staff(db: None) -> Client:
    return signed_in("view_account", "change_account", "view_accountstatuschange")


@pytest.fixture
def accounts(one_person: None) -> dict[str, Account]:
    """An account of each status, by status."""
    acme = Partner.objects.create(login="acme", name="Acme")
    both = Actor(asker(), is_staff=True, approved_by="two@staff.example")
    opened = {}
    for status, path in PATHS.items():
        client = User.objects.create(
            type=User.Type.INDIVIDUAL, first_name="Otto", last_name=status.title()
        )
        opened[status] = Account.objects.open(acme, client, both, START)
        for step in path:
            opened[status].change_status(step, both, f"became {step}")
    return opened


def act(client: Client, action: str, accounts: dict[str, Account], reason: str = ""):
    data = {
        "action": action,
        "_selected_action": [account.pk for account in accounts.values()],
        "reason": reason,
    }
    return client.post(LIST, data, follow=True)


def told(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def statuses(accounts: dict[str, Account]) -> dict[str, str]:
    found = Account.objects.in_bulk()
    return {was: found[account.pk].status for was, account in accounts.items()}


@pytest.mark.parametrize(
    ("action", "source", "target"),
    [
        ("activate", "PENDING", "ACTIVE"),
        ("reject", "PENDING", "REJECTED"),
        ("suspend", "ACTIVE", "SUSPENDED"),
        ("reactivate", "SUSPENDED", "ACTIVE"),
    ],
)
def test_staff_move_accounts_of_one_status_and_leave_the_others(
    staff: Client,
    accounts: dict[str, Account],
    action: str,
    source: str,
    target: str,
):
    before = AccountStatusChange.objects.count()
    response = act(staff, action, accounts, " Seen in person ")
    assert told(response) == [
        f"1 accounts are now {target}.",
        f"4 accounts were not {source}, and stay unchanged.",
    ]
    assert statuses(accounts) == {status: status for status in PATHS} | {source: target}
    assert AccountStatusChange.objects.count() == before + 1
    last = accounts[source].history.latest("number")
    assert (last.previous_status, last.status, last.reason) == (
        source,
        target,
        "Seen in person",
    )
    assert (last.actor, last.is_staff, last.approved_by) == (ANA, True, "")
    [entry] = LogEntry.objects.all()
    assert (entry.user.email, entry.object_id) == (ANA, str(accounts[source].pk))
    assert entry.change_message == f"{source} → {target}."


def test_without_a_reason_nothing_is_moved(staff: Client, accounts: dict[str, Account]):
    [said] = told(act(staff, "suspend", {"ACTIVE": accounts["ACTIVE"]}, " "))
    assert said.startswith("The reason is empty.")
    assert statuses(accounts) == {status: status for status in PATHS}


def test_a_reason_that_is_too_long_changes_nothing(
    staff: Client, accounts: dict[str, Account]
):
    act(staff, "suspend", accounts, "r" * 501)
    assert statuses(accounts) == {status: status for status in PATHS}


def test_whoever_may_only_look_has_no_actions(accounts: dict[str, Account]):
    client = signed_in("view_account")
    response = client.get(LIST)
    assert response.context["action_form"] is None
    act(client, "suspend", accounts)
    assert statuses(accounts) == {status: status for status in PATHS}


def test_closing_and_deleting_are_not_offered(staff: Client):
    choices = dict(staff.get(LIST).context["action_form"].fields["action"].choices)
    assert set(choices) == {"", "activate", "reject", "suspend", "reactivate"}


def test_an_account_shows_its_history_and_how_it_is_closed(
    staff: Client, accounts: dict[str, Account]
):
    account, active = accounts["CLOSED"], accounts["ACTIVE"]
    page = reverse("admin:account", args=[account.pk])
    shown = staff.get(page).content.decode()
    for text in ("Active → Closed", ASKER, "two@staff.example"):
        assert text in shown
    assert "Closed is final" in shown
    page = reverse("admin:account", args=[active.pk])
    form = reverse("admin:accounts_account_change", args=[active.pk])
    assert staff.get(form)["Location"] == page
    assert staff.post(form, {"status": "CLOSED"}).status_code == 403
    assert statuses(accounts)["CLOSED"] == "CLOSED"


def test_a_longer_history_takes_no_more_queries(
    staff: Client, accounts: dict[str, Account]
):
    def queries(status: str) -> int:
        page = reverse("admin:account", args=[accounts[status].pk])
        with CaptureQueriesContext(connection) as captured:
            assert staff.get(page).status_code == 200
        return len(captured)

    # The first one also asks for the model's content type, which is then known.
    queries("PENDING")
    assert queries("CLOSED") == queries("PENDING") <= 10


@pytest.mark.parametrize("name", ["account", "accountstatuschange"])
@pytest.mark.parametrize("named", ["{id}", "Account|{id}", " account|{id} "])
def test_an_account_is_found_by_its_id(
    staff: Client, accounts: dict[str, Account], name: str, named: str
):
    account = accounts["SUSPENDED"]
    term = named.format(id=account.pk)
    page = reverse(f"admin:accounts_{name}_changelist")
    rows = staff.get(page, {"q": term}).context["cl"].queryset
    if name == "account":
        assert list(rows) == [account]
    else:
        assert set(rows) == set(account.history.all())


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("3F2A", 1),
        ("3f2a0000-0000", 1),
        ('"3f2a0000-0000-4000-8000-000000000000"', 1),
        ("3f2b", 0),
        ("a", 0),
        ("key", 0),
        ("3f2a0000000040008000000000000000f", 0),
        ("", 1),
    ],
)
def test_a_mutation_is_found_by_how_its_key_begins(db: None, term: str, found: int):
    acme = Partner.objects.create(login="acme", name="Acme")
    at = timezone.now()
    IdempotencyRecord.objects.create(
        partner=acme,
        key="3f2a0000-0000-4000-8000-000000000000",
        fingerprint=bytes(32),
        body=b"{}",
        created_at=at,
        expires_at=at,
    )
    client = signed_in("view_idempotencyrecord")
    page = reverse("admin:partnerapi_idempotencyrecord_changelist")
    assert client.get(page, {"q": term}).context["cl"].result_count == found

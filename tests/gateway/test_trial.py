"""X-Validate-Only: all checks of a mutation are made, nothing is done or kept."""

import uuid
from typing import Any

import pytest

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models.events import Event, EventHead
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.characters import START, Answer, Ask, World
from tests.owner import as_committed

CHANGE = """
mutation ($id: ID!, $status: AccountStatus!) {
  updateAccountStatus(input: {accountID: $id, status: $status}) {
    previousStatus
    account { status allowedStatuses user { id } }
  }
}
"""
TRIAL = {"X-Validate-Only": "true"}


def open_account(partner: Partner) -> Account:
    client = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    account = Account.objects.open(partner, client, desk(), START)
    account.change_status("ACTIVE", desk(), None)
    return account


@pytest.fixture
def account(world: World) -> Account:
    return open_account(world.partner)


def kept(account: Account) -> tuple[Any, ...]:
    """Everything that a mutation of an account leaves behind when it is committed."""
    as_committed()
    account.refresh_from_db()
    events = Event.objects.count(), list(EventHead.objects.order_by("pk").values())
    answers = IdempotencyRecord.objects.count()
    return account.status, account.history.count(), answers, events


def change(ask: Ask, account: Account, status: str, **headers: str) -> Answer:
    return ask(CHANGE, {"id": f"Account|{account.pk}", "status": status}, **headers)


OPEN = """
mutation { openAccount(input: {type: INDIVIDUAL, name: "Anna Lund",
  email: "anna@client.example", countryCode: "FR", reference: "client-1"}) {
  account { status
    cash { balance available entries }
    cashEntries(first: 1) { nodes { amount } }
    withdrawals(first: 1) { nodes { amount } }
    positions(first: 1) { nodes { available } }
    orders(first: 1) { nodes { id } }
    holdings { token { id } }
    investor { pending }
  }
} }
"""


def test_an_account_that_would_be_opened_has_no_cash_yet(world: World):
    ask = Ask(approved_key(world.partner, list(Scope))[1])
    tried = ask(OPEN, **TRIAL)
    done = ask(OPEN, **{"Idempotency-Key": str(uuid.uuid4())})
    assert tried.data == done.data


def test_answers_what_would_be_answered_and_does_nothing(
    account: Account, partner: Ask
):
    before = kept(account)
    tried = change(partner, account, "SUSPENDED", **TRIAL)
    assert tried.headers["X-Validate-Only"] == "true"
    assert "Idempotency-Key-Expires" not in tried.headers
    assert tried.body["extensions"] == {"validateOnly": True}
    assert kept(account) == before

    key = {"Idempotency-Key": str(uuid.uuid4())}
    done = change(partner, account, "SUSPENDED", **key)
    assert done.data == tried.data
    assert "X-Validate-Only" not in done.headers
    # Two fields read; the payload, the account and its user are objects.
    assert done.headers["X-Query-Cost"] == str(150 + 20 + 3)
    assert tried.headers["X-Query-Cost"] == str(100 + 20 + 3)
    assert kept(account)[:3] == ("SUSPENDED", 3, 1)


def test_its_lists_show_what_is_stored(account: Account, partner: Ask):
    listed = CHANGE.replace(
        "user { id }", "statusHistory(last: 1) { nodes { status } }"
    )
    values = {"id": f"Account|{account.pk}", "status": "SUSPENDED"}
    told = partner(listed, values, **TRIAL).data["updateAccountStatus"]["account"]
    before = {"nodes": [{"status": "ACTIVE"}]}
    assert (told["status"], told["statusHistory"]) == ("SUSPENDED", before)


def test_keeps_nothing_for_the_key_that_came_along(account: Account, partner: Ask):
    key = str(uuid.uuid4())
    change(partner, account, "SUSPENDED", **TRIAL, **{"Idempotency-Key": key})
    asked = partner(
        "query ($k: String!) { idempotentRequest(key: $k) { key } }", {"k": key}
    )
    assert asked.data == {"idempotentRequest": None}
    done = change(partner, account, "CLOSED", **{"Idempotency-Key": key})
    assert "Idempotent-Replayed" not in done.headers
    assert done.data["updateAccountStatus"]["account"]["status"] == "CLOSED"


def test_a_refused_mutation_costs_what_it_does(account: Account, partner: Ask):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for headers, points in ((TRIAL, 120), (key, 170)):
        refused = change(partner, account, "PENDING", **headers)
        assert refused.code == "INVALID_STATUS_TRANSITION"
        assert refused.headers["X-Query-Cost"] == str(points)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        ("PENDING", {}, (200, "INVALID_STATUS_TRANSITION")),
        ("SUSPENDED", {"Idempotency-Key": "1"}, (400, "IDEMPOTENCY_KEY_INVALID")),
        ("SUSPENDED", {"X-Validate-Only": "1"}, (400, "BAD_REQUEST")),
        ("SUSPENDED", {"X-Token-Auth": "x"}, (401, "UNAUTHENTICATED")),
    ],
)
def test_refuses_what_would_be_refused(
    status: str,
    headers: dict[str, str],
    expected: tuple[int, str],
    account: Account,
    partner: Ask,
):
    before = kept(account)
    answer = change(partner, account, status, **{**TRIAL, **headers})
    assert (answer.status, answer.code) == expected
    assert kept(account) == before


def test_only_true_tries_and_false_does(account: Account, partner: Ask):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    for said, status in (("TRUE", "ACTIVE"), ("false", "SUSPENDED")):
        change(partner, account, "SUSPENDED", **key, **{"X-Validate-Only": said})
        account.refresh_from_db()
        assert account.status == status


def test_a_query_is_answered_as_always(partner: Ask):
    answer = partner("{ viewer { login } }", **TRIAL)
    assert answer.body == {"data": {"viewer": {"login": "broker_one"}}}
    assert "X-Validate-Only" not in answer.headers


@pytest.mark.parametrize(
    "document",
    [
        "mutation { __typename }",
        "mutation { createExport(input: {connection: ISSUERS}) @skip(if: true) "
        "{ export { id } } }",
    ],
)
def test_a_trial_of_nothing_costs_the_least(document: str, partner: Ask, stranger: Ask):
    for ask in (partner, stranger):
        answer = ask(document, **TRIAL)
        assert answer.status in (200, 401)
        assert int(answer.headers["X-Query-Cost"]) >= 10
    priced = partner(document, **TRIAL, **{"X-Cost-Only": "1"})
    assert priced.body["extensions"]["cost"]["most"] >= 10

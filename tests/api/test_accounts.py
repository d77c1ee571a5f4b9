import uuid

import pytest

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.people.models import User
from partnerapi.gateway.models import IdempotencyRecord
from partnerapi.sandbox.data.approvals import approved_key
from tests.approved import desk
from tests.characters import START, Ask, World

CHANGE = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) {
    previousStatus changedAt
    account { id status statusReason allowedStatuses
      statusHistory { nodes { previousStatus status actor reason } } }
  }
}
"""


@pytest.fixture
def account(world: World) -> Account:
    client = User.objects.create(
        type=User.Type.INDIVIDUAL, first_name="Otto", last_name="Lund"
    )
    opened = Account.objects.open(world.partner, client, desk(), START)
    opened.change_status("ACTIVE", desk(), "checked")
    return opened


def change(ask: Ask, account_id: str, status: str, key: str | None = None, **more: str):
    headers = {"Idempotency-Key": key or str(uuid.uuid4())}
    values = {"accountID": account_id, "status": status, **more}
    return ask(CHANGE, {"input": values}, **headers)


def test_suspends_an_active_account(account: Account, partner: Ask):
    answer = change(partner, f"Account|{account.pk}", "SUSPENDED", reason="lost phone")
    payload = answer.data["updateAccountStatus"]
    account.refresh_from_db()
    assert payload.pop("changedAt").endswith("Z")
    assert payload == {
        "previousStatus": "ACTIVE",
        "account": {
            "id": f"Account|{account.pk}",
            "status": "SUSPENDED",
            "statusReason": "lost phone",
            "allowedStatuses": ["ACTIVE", "CLOSED"],
            "statusHistory": {
                "nodes": [
                    {
                        "previousStatus": None,
                        "status": "PENDING",
                        "actor": "staff",
                        "reason": None,
                    },
                    {
                        "previousStatus": "PENDING",
                        "status": "ACTIVE",
                        "actor": "staff",
                        "reason": "checked",
                    },
                    {
                        "previousStatus": "ACTIVE",
                        "status": "SUSPENDED",
                        "actor": "broker_one",
                        "reason": "lost phone",
                    },
                ]
            },
        },
    }
    assert account.status == "SUSPENDED"


@pytest.fixture
def writer(world: World) -> Ask:
    return Ask(approved_key(world.partner, [Scope.ACCOUNTS_WRITE])[1])


WRITTEN = """
mutation ($input: UpdateAccountStatusInput!) {
  updateAccountStatus(input: $input) {
    previousStatus changedAt
    account { id status statusReason allowedStatuses createdAt updatedAt %s }
  }
}
"""


def write(ask: Ask, account: Account, key: str, more: str = ""):
    values = {"accountID": f"Account|{account.pk}", "status": "SUSPENDED"}
    return ask(WRITTEN % more, {"input": values}, **{"Idempotency-Key": key})


def test_a_key_that_may_only_write_reads_what_it_has_written(
    account: Account, writer: Ask
):
    key = str(uuid.uuid4())
    first = write(writer, account, key)
    read = first.data["updateAccountStatus"]["account"]
    assert (read["status"], read["allowedStatuses"]) == (
        "SUSPENDED",
        ["ACTIVE", "CLOSED"],
    )
    assert write(writer, account, key).body == first.body
    assert account.history.count() == 3


@pytest.mark.parametrize(
    "field", ["user { id }", "statusHistory { totalCount }", "again: user { id }"]
)
def test_a_key_that_may_only_write_reads_neither_people_nor_the_past(
    field: str, account: Account, writer: Ask, partner: Ask
):
    key = str(uuid.uuid4())
    refused = write(writer, account, key, field)
    assert refused.body["data"] == {"updateAccountStatus": None}
    assert refused.code == "FORBIDDEN"
    [error] = refused.errors
    asked = field.split()[0].removesuffix(":")
    assert error["path"] == ["updateAccountStatus", "account", asked]
    assert error["extensions"]["requiredScope"] == "accounts:read"
    account.refresh_from_db()
    assert (account.status, account.history.count()) == ("ACTIVE", 2)
    again = write(writer, account, key, field)
    assert again.body == refused.body
    assert again.headers["Idempotent-Replayed"] == "true"
    allowed = write(partner, account, str(uuid.uuid4()), field)
    assert allowed.data["updateAccountStatus"]["account"]["status"] == "SUSPENDED"


def test_replays_the_first_answer(account: Account, partner: Ask):
    key = str(uuid.uuid4())
    first = change(partner, f"Account|{account.pk}", "SUSPENDED", key)
    again = change(partner, f"Account|{account.pk}", "SUSPENDED", key)
    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.headers
    assert (
        again.headers["Idempotency-Key-Expires"]
        == first.headers["Idempotency-Key-Expires"]
    )
    assert account.history.count() == 3


def test_refuses_to_reopen_a_closed_account(account: Account, partner: Ask):
    change(partner, f"Account|{account.pk}", "CLOSED")
    answer = change(partner, f"Account|{account.pk}", "ACTIVE")
    assert answer.status == 200
    assert answer.body["data"] == {"updateAccountStatus": None}
    assert answer.code == "INVALID_STATUS_TRANSITION"
    assert answer.errors[0]["extensions"]["allowedStatuses"] == []
    account.refresh_from_db()
    assert account.status == "CLOSED"
    assert IdempotencyRecord.objects.count() == 2


@pytest.mark.parametrize("wrong", ["Account|0", "nonsense", "", "Issuer|{id}"])
def test_answers_nothing_for_what_is_not_an_account(
    wrong: str, account: Account, partner: Ask
):
    wrong = wrong.format(id=account.pk)
    query = "query ($id: String!) { account(id: $id) { id } }"
    assert partner(query, {"id": wrong}).data == {"account": None}
    refused = change(partner, wrong, "SUSPENDED")
    assert refused.code == "NOT_FOUND"
    assert refused.errors[0]["message"] == "You have no account with this id."


def test_lists_accounts_of_a_status(account: Account, partner: Ask, observer: Ask):
    query = """
    query ($status: AccountStatus) {
      accounts(status: $status) { totalCount nodes { id user { displayName } } }
    }
    """
    listed = {
        "totalCount": 1,
        "nodes": [
            {"id": f"Account|{account.pk}", "user": {"displayName": "Otto Lund"}}
        ],
    }
    assert partner(query).data == {"accounts": listed}
    assert partner(query, {"status": "ACTIVE"}).data == {"accounts": listed}
    nothing = {"totalCount": 0, "nodes": []}
    assert partner(query, {"status": "CLOSED"}).data == {"accounts": nothing}
    refused = observer(query)
    assert refused.code == "FORBIDDEN"
    assert refused.body["data"] is None


def test_tells_whether_a_mutation_happened(account: Account, partner: Ask):
    query = "query ($k: String!) { idempotentRequest(key: $k) { key operationName } }"
    key = str(uuid.uuid4())
    assert partner(query, {"k": key}).data == {"idempotentRequest": None}
    change(partner, f"Account|{account.pk}", "SUSPENDED", key)
    told = {"idempotentRequest": {"key": key, "operationName": None}}
    assert partner(query, {"k": key}).data == told

"""An account's cash over GraphQL: what partners read, and what they withdraw."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.accounts.models import Account, Actor
from accounts.cash.models import CashHead, Withdrawal
from accounts.cash.withdrawals import refuse
from partnerapi.sandbox.data.approvals import DECIDER, approved_key, colleague
from tests.accounts.money import (
    approve,
    bank,
    deposit,
    head_of,
    new_account,
    reference_of,
)
from tests.characters import Answer, Ask, World
from tests.owner import as_committed

PARTNER = Actor("broker_one", is_staff=False)
CASH = """
query ($id: String!, $first: Int, $after: String) {
  account(id: $id) {
    cash { balance reserved available depositReference }
    cashEntries(first: $first, after: $after) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { id kind amount balanceAfter reference at }
    }
    withdrawals(first: 5) { totalCount nodes { id amount reference status statusReason at } }
  }
}
"""  # noqa: E501
REQUEST = """
mutation ($input: RequestWithdrawalInput!) {
  requestWithdrawal(input: $input) {
    withdrawal { id amount reference status statusReason at }
  }
}
"""


@pytest.fixture
def account(world: World) -> Account:
    """It has 10 €."""
    account = new_account(world.partner)
    bank((reference_of(account), 1_000, "B-1"))
    return account


def request(
    ask: Ask, account: Account, amount: Any, reference: str = "W-1", key: str = ""
) -> Answer:
    values = {
        "accountID": f"Account|{account.pk}", "amount": amount, "reference": reference,
    }  # fmt: skip
    return ask(
        REQUEST, {"input": values}, **{"Idempotency-Key": key or str(uuid.uuid4())}
    )


def read(ask: Ask, account: Account, **page: Any) -> Any:
    return ask(CASH, {"id": f"Account|{account.pk}", **page}).data["account"]


def test_an_account_shows_its_cash_and_how_it_moved(account: Account, partner: Ask):
    withdrawal = request(partner, account, 400).data["requestWithdrawal"]["withdrawal"]
    stored = Withdrawal.objects.get()
    assert withdrawal.pop("at").endswith("Z")
    assert withdrawal == {
        "id": f"Withdrawal|{stored.pk}",
        "amount": 400,
        "reference": "W-1",
        "status": "REQUESTED",
        "statusReason": None,
    }
    shown = read(partner, account)
    assert shown["cash"] == {
        "balance": 1_000,
        "reserved": 400,
        "available": 600,
        "depositReference": reference_of(account),
    }
    approve(stored)
    bank((stored.payment_reference, -400))
    request(partner, account, 50, "W-2")
    decider = colleague(DECIDER).email or ""
    refuse(Withdrawal.objects.get(reference="W-2"), "Another bank", decider)
    shown = read(partner, account)
    assert shown["cash"]["balance"] == 600
    entries = shown["cashEntries"]["nodes"]
    assert entries[0]["id"] == f"CashEntry|{account.pk}.2"
    assert [
        (e["kind"], e["amount"], e["balanceAfter"], e["reference"]) for e in entries
    ] == [("WITHDRAWAL", -400, 600, "W-1"), ("DEPOSIT", 1_000, 1_000, "B-1")]
    assert [
        (w["reference"], w["status"], w["statusReason"])
        for w in shown["withdrawals"]["nodes"]
    ] == [
        ("W-2", "REFUSED", "Another bank"),
        ("W-1", "PAID", None),
    ]


def test_entries_come_page_by_page(account: Account, partner: Ask):
    for cents in range(1, 5):
        deposit(account, cents)
    amounts, after = [], None
    while True:
        page = read(partner, account, first=2, after=after)["cashEntries"]
        assert page["totalCount"] == 5
        amounts += [node["amount"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
    assert amounts == [4, 3, 2, 1, 1_000]


def test_a_withdrawal_happens_once(account: Account, partner: Ask):
    key = str(uuid.uuid4())
    first = request(partner, account, 400, key=key)
    again = request(partner, account, 400, key=key)
    assert first.body == again.body
    assert head_of(account) == (1_000, 400)
    duplicate = request(partner, account, 5)
    assert duplicate.code == "DUPLICATE_REFERENCE"
    [error] = duplicate.errors
    stored = Withdrawal.objects.get()
    assert error["extensions"]["withdrawalID"] == f"Withdrawal|{stored.pk}"


def test_what_can_not_be_withdrawn_is_refused(
    account: Account, partner: Ask, world: World
):
    [error] = (poor := request(partner, account, 1_001)).errors
    assert poor.code == "INSUFFICIENT_FUNDS"
    assert error["extensions"]["available"] == 1_000
    assert error["extensions"]["required"] == 1_001
    assert request(partner, account, str(2**64 - 1)).code == "INSUFFICIENT_FUNDS"
    assert request(partner, account, 0).code == "BAD_USER_INPUT"
    assert request(partner, account, 1, "white space").code == "BAD_USER_INPUT"
    other = new_account(world.observer)
    deposit(other, 100)
    assert request(partner, other, 1).code == "NOT_FOUND"
    account.change_status("SUSPENDED", PARTNER, None)
    [error] = (suspended := request(partner, account, 1)).errors
    assert suspended.code == "ACCOUNT_NOT_ACTIVE"
    assert error["extensions"]["status"] == "SUSPENDED"
    assert not Withdrawal.objects.exists()


TO = """
mutation ($input: RequestWithdrawalInput!) {
  requestWithdrawal(input: $input) { withdrawal { payee { name iban } } }
}
"""


def request_to(ask: Ask, account: Account, reference: str, **payee: str) -> Answer:
    values = {
        "accountID": f"Account|{account.pk}", "amount": 1, "reference": reference,
        "payee": payee,
    }  # fmt: skip
    return ask(TO, {"input": values}, **{"Idempotency-Key": str(uuid.uuid4())})


def test_a_withdrawal_names_its_payee(account: Account, partner: Ask):
    iban = "FR76 3000 6000 0112 3456 7890 189"
    asked = request_to(partner, account, "W-1", name="Zoë Silva", iban=iban).data
    assert asked["requestWithdrawal"]["withdrawal"]["payee"] == {
        "name": "Zoe Silva",
        "iban": "FR7630006000011234567890189",
    }
    listed = "{ accounts { nodes { withdrawals { nodes { payee { iban } } } } } }"
    request(partner, account, 1, "W-2")
    [found] = partner(listed).data["accounts"]["nodes"]
    payees = [row["payee"] for row in found["withdrawals"]["nodes"]]
    assert payees == [None, {"iban": "FR7630006000011234567890189"}]


@pytest.mark.parametrize(
    ("name", "iban", "argument", "why"),
    [
        ("Zoë", "FR7630006000011234567890188", "iban", "check digits do not fit"),
        ("Zoë", "none", "iban", "two letters, two digits"),
        ("Иван", "FR7630006000011234567890189", "name", "1 to 70 Latin letters"),
    ],
)
def test_a_payee_that_no_bank_could_pay_is_refused(
    account: Account, partner: Ask, name: str, iban: str, argument: str, why: str
):
    [error] = request_to(partner, account, "W-1", name=name, iban=iban).errors
    assert error["extensions"]["code"] == "BAD_USER_INPUT"
    assert error["extensions"]["argument"] == f"input.payee.{argument}"
    assert why in error["message"]
    assert not Withdrawal.objects.exists()


UNASSIGNED = "{ events { nodes { type account { id } } } }"


def unassigned(ask: Ask) -> list[str]:
    nodes = ask(UNASSIGNED).data["events"]["nodes"]
    return [
        node["account"]["id"] for node in nodes if node["type"] == "DEPOSIT_UNASSIGNED"
    ]


def test_money_for_an_account_that_takes_none_is_told_to_its_partner(
    account: Account, partner: Ask, observer: Ask, world: World
):
    pending = new_account(world.partner, "PENDING")
    booked = bank(
        (f"For {reference_of(pending)}", 500),
        (f"For {reference_of(account)}", 1),
        ("No reference", 2),
    )
    as_committed()
    assert (booked.deposits, len(booked.unknown)) == (1, 2)
    assert unassigned(partner) == [f"Account|{pending.pk}"]
    assert unassigned(observer) == []
    bank((f"{reference_of(account)} {reference_of(pending)}", 3))
    as_committed()
    assert len(unassigned(partner)) == 3


def test_an_account_with_cash_is_not_closed(account: Account, partner: Ask):
    close = """mutation ($id: ID!) {
      updateAccountStatus(input: {accountID: $id, status: CLOSED}) { changedAt } }"""
    values, key = (
        {"id": f"Account|{account.pk}"},
        {"Idempotency-Key": str(uuid.uuid4())},
    )
    assert partner(close, values, **key).code == "ACCOUNT_NOT_EMPTY"
    account.refresh_from_db()
    assert account.status == "ACTIVE"


def test_cash_needs_its_scopes(account: Account, world: World):
    reader = Ask(approved_key(world.partner, [Scope.ACCOUNTS_READ])[1])
    as_committed()
    answer = reader(CASH, {"id": f"Account|{account.pk}"})
    assert {error["extensions"]["requiredScope"] for error in answer.errors} == {
        "cash:read"
    }
    assert request(reader, account, 1).code == "FORBIDDEN"
    writer = Ask(approved_key(world.partner, [Scope.CASH_WRITE])[1])
    as_committed()
    assert request(writer, account, 1).data["requestWithdrawal"]


def test_cash_of_many_accounts_takes_as_many_statements_as_of_one(
    account: Account, partner: Ask, world: World
):
    many = """query ($first: Int!) { accounts(first: $first) { nodes {
      cash { available } cashEntries { totalCount nodes { kind reference } }
      withdrawals { nodes { status } } } } }"""

    def statements(first: int) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert (
                len(partner(many, {"first": first}).data["accounts"]["nodes"]) == first
            )
        return len(queries)

    for _ in range(4):
        deposit(new_account(world.partner), 5)
    statements(1)
    one = statements(1)
    assert statements(5) == one
    assert CashHead.objects.count() == 3 + 5

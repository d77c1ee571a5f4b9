"""What a partner has does not exist for another one, by whatever it is asked for."""

import re
import uuid
from typing import Any

import orjson
import pytest

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.cash.withdrawals import request_withdrawal
from marketdata.trading import market
from marketdata.trading.models import Order
from marketdata.trading.telling import Fill
from partnerapi.sandbox.data.approvals import approved_key
from tests.api.test_orders import AMEND, CANCEL, CANCEL_EACH, CHECK, PLACE, PLACE_EACH
from tests.characters import Ask, World
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    place,
    placed,
    sell,
)
from tests.owner import as_committed

WITHDRAW = """mutation ($input: RequestWithdrawalInput!) {
    requestWithdrawal(input: $input) { withdrawal { id } } }"""
ATTEST = """mutation ($input: AttestInvestorInput!) {
    attestInvestor(input: $input) { account { id } } }"""
MOVE = """mutation ($input: UpdateAccountStatusInput!) {
    updateAccountStatus(input: $input) { account { id } } }"""
CHECK_TRANSFER = """query ($input: CheckTransferInput!) {
    checkTransfer(input: $input) { allowed } }"""
READ = """query ($account: ID!, $text: String!, $order: ID!, $ids: [ID!]!, $user: ID!,
        $called: String!) {
    account(id: $text) { id cash { balance } investor { verification }
        orders { totalCount } executions { totalCount } positions { totalCount }
        cashEntries { totalCount } withdrawals { totalCount } }
    accounts(userID: $user) { totalCount nodes { id } }
    order(id: $order) { id }
    called: order(accountID: $account, clientOrderID: $called) { id }
    orders(accountID: $account) { totalCount nodes { id } }
    events(accountID: $account) { totalCount nodes { sequence } }
    nodes(ids: $ids) { id }
}"""
CALLED = "their-own"


class Theirs:
    """A client that has traded, with an open order and a withdrawal; and its ids."""

    def __init__(self, world: World) -> None:
        self.token = new_market()
        self.client, self.other = new_clients(2, world.partner)
        deposit(self.client, 10_000)
        give(self.token, {self.other: 100})
        place(self.token, sell(self.other, 5, 100))
        placed(self.token, buy(self.client, 5, 100))
        self.order = placed(self.token, buy(self.client, 5, 99, client_order_id=CALLED))
        self.fill = Fill.objects.get(account=self.client)
        self.withdrawal = request_withdrawal(self.client, 7, CALLED, "broker_one")
        as_committed()

    @property
    def ids(self) -> dict[str, str]:
        return {
            "account": str(self.client.pk),
            "order": str(self.order.pk),
            "execution": str(self.fill.pk),
            "withdrawal": str(self.withdrawal.pk),
            "user": str(self.client.user_id),
            "called": CALLED,
        }


@pytest.fixture
def theirs(world: World) -> Theirs:
    return Theirs(world)


@pytest.fixture
def stranger_partner(world: World) -> Ask:
    """Another partner's key with every scope."""
    return Ask(approved_key(world.observer, list(Scope))[1])


def probes(token: Any, ids: dict[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Everything that names something of a client: documents and their variables."""
    account, order = f"Account|{ids['account']}", f"Order|{ids['order']}"
    asked = {
        "accountID": account,
        "side": "SELL",
        "quantity": 1,
        "limitPrice": 100,
        "clientOrderID": ids["called"],
    }
    of_token = {"tokenID": f"Token|{token.pk}"}
    inputs: list[tuple[str, dict[str, Any]]] = [
        (PLACE, asked | of_token),
        (CHECK, asked | of_token),
        (PLACE_EACH, of_token | {"orders": [asked]}),
        (AMEND, {"orderID": order, "version": 1, "quantity": 2}),
        (CANCEL, {"orderID": order}),
        (CANCEL_EACH, {"accountID": account}),
        (CANCEL_EACH, {"accountID": account} | of_token),
        (WITHDRAW, {"accountID": account, "amount": 1, "reference": "x"}),
        (ATTEST, {"accountID": account, "verification": "VERIFIED",
            "countryCode": "FR", "investorClass": "RETAIL"}),
        (MOVE, {"accountID": account, "status": "SUSPENDED"}),
        (CHECK_TRANSFER, of_token | {"quantity": 1, "fromAccountID": account}),
        (CHECK_TRANSFER, of_token | {"quantity": 1, "toAccountID": account}),
    ]  # fmt: skip
    read = {
        "account": account,
        "text": account,
        "order": order,
        "user": f"User|{ids['user']}",
        "called": ids["called"],
        "ids": [
            account,
            order,
            f"Execution|{ids['execution']}",
            f"Withdrawal|{ids['withdrawal']}",
            f"CashEntry|{ids['account']}.1",
            f"User|{ids['user']}",
        ],
    }
    return [(READ, read), *((document, {"input": i}) for document, i in inputs)]


def told(ask: Ask, document: str, variables: dict[str, Any], ids: Any) -> Any:
    """Status and body of an answer, without the ids that were asked for."""
    key = {"Idempotency-Key": str(uuid.uuid4())} if "mutation" in document else {}
    answer = ask(document, variables, **key)
    body = orjson.dumps(answer.body).decode()
    for name, value in ids.items():
        body = body.replace(value, name)
    body = re.sub(r'"requestId":"[^"]*"', "", body)
    return answer.status, body, answer.headers.get("X-Query-Cost")


def test_asking_for_theirs_is_asking_for_nothing(theirs: Theirs, stranger_partner: Ask):
    nowhere = {name: str(uuid.uuid4()) for name in theirs.ids}
    for mine, other in zip(
        probes(theirs.token, theirs.ids), probes(theirs.token, nowhere), strict=True
    ):
        found = told(stranger_partner, *mine, theirs.ids)
        assert found == told(stranger_partner, *other, nowhere), mine
        assert "INTERNAL" not in found[1]
    theirs.order.refresh_from_db()
    theirs.client.refresh_from_db()
    assert (theirs.order.status, theirs.order.version) == ("OPEN", 1)
    assert theirs.client.status == "ACTIVE"
    assert Order.objects.count() == 3


def test_a_cursor_of_theirs_leads_to_one_s_own(
    theirs: Theirs, stranger_partner: Ask, partner: Ask, world: World
):
    pages = """{ orders(first: 1) { pageInfo { endCursor } nodes { id } }
        events(first: 1) { pageInfo { endCursor } nodes { sequence } } }"""
    found = partner(pages).data
    own = market.place_each(new_market().pk, [buy(deposited(world), 1, 100)])
    as_committed()
    assert own
    document = """query ($o: String, $e: String) {
        orders(last: 100, before: $o) { nodes { account { id } } }
        after: orders(first: 100, after: $o) { nodes { account { id } } }
        events(first: 100, after: $e) { nodes { account { id } order { id } } }
        earlier: events(last: 100, before: $e) { nodes { account { id } } } }"""
    cursors = {
        "o": found["orders"]["pageInfo"]["endCursor"],
        "e": found["events"]["pageInfo"]["endCursor"],
    }
    body = orjson.dumps(stranger_partner(document, cursors).body).decode()
    for value in theirs.ids.values():
        assert value not in body
    assert str(theirs.other.pk) not in body


def deposited(world: World) -> Account:
    [account] = new_clients(1, world.observer)
    deposit(account, 10_000)
    return account


def test_of_a_shared_client_each_partner_has_its_own_orders(
    theirs: Theirs, stranger_partner: Ask, world: World
):
    """The user's units are one; orders, cash, events and executions are not."""
    [same] = new_clients(1, world.observer, [theirs.client.user])
    deposit(same, 500)
    as_committed()
    answer = stranger_partner(
        """query ($id: String!, $account: ID!) { account(id: $id) {
        cash { balance reserved } orders { totalCount } executions { totalCount }
        cashEntries { totalCount } withdrawals { totalCount }
        positions { nodes { quantity reserved } } }
        orders { totalCount } events(first: 100) { nodes { type } }
        called: order(accountID: $account, clientOrderID: "their-own") { id } }""",
        {"id": f"Account|{same.pk}", "account": f"Account|{same.pk}"},
    ).data
    types = {event["type"] for event in answer.pop("events")["nodes"]}
    assert not {kind for kind in types if kind.startswith(("ORDER", "TRADE"))}
    assert answer == {
        "account": {
            "cash": {"balance": 500, "reserved": 0},
            "orders": {"totalCount": 0},
            "executions": {"totalCount": 0},
            "cashEntries": {"totalCount": 1},
            "withdrawals": {"totalCount": 0},
            "positions": {"nodes": [{"quantity": 5, "reserved": 0}]},
        },
        "orders": {"totalCount": 0},
        "called": None,
    }
    # The name is free here, and the kill switch reaches one's own alone.
    own = placed(theirs.token, buy(same, 1, 80, client_order_id=CALLED))
    ended = stranger_partner(
        CANCEL_EACH, {"input": {}}, **{"Idempotency-Key": str(uuid.uuid4())}
    )
    assert ended.data == {"cancelOrders": {"cancelled": 1}}
    own.refresh_from_db()
    theirs.order.refresh_from_db()
    assert (own.status, theirs.order.status) == ("CANCELLED", "OPEN")

"""Orders over GraphQL: placed, traded, amended, cancelled, read; and one's own only."""

import uuid
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.access import Scope
from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading.models import Order
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.api.test_plans import all_planned
from tests.characters import Ask, World
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    place,
    purse,
    sell,
    units,
)

ORDER = """id clientOrderID side type limitPrice quantity filledQuantity filledValue
  remainingQuantity timeInForce expiresAt status statusReason version
  createdAt updatedAt"""
EXECUTION = """id side price quantity value liquidity tradeSequence ledgerSequence at
  bustedAt"""
PLACE = f"""
mutation ($input: PlaceOrderInput!) {{ placeOrder(input: $input) {{
  order {{ {ORDER} account {{ id }} token {{ id }} executions {{ nodes {{ id }} }} }}
  executions {{ {EXECUTION} }} }} }}
"""
PLACE_EACH = """
mutation ($input: PlaceOrdersInput!) { placeOrders(input: $input) {
  results { order { id status } code message } } }
"""
CHECK = """
query ($input: PlaceOrderInput!) { checkOrder(input: $input) {
  allowed code refusals { code message } reserves wouldFillQuantity wouldFillValue at
} }
"""
AMEND = """
mutation ($input: AmendOrderInput!) { amendOrder(input: $input) {
  order { quantity limitPrice version filledQuantity } keptPriority
  executions { quantity } } }
"""
CANCEL = """
mutation ($input: CancelOrderInput!) { cancelOrder(input: $input) {
  order { id status statusReason } } }
"""
CANCEL_EACH = """
mutation ($input: CancelOrdersInput!) { cancelOrders(input: $input) { cancelled } }
"""
EVENTS = """
{ events(first: 100, types: [ORDER_ACCEPTED ORDER_AMENDED ORDER_TRADED ORDER_CANCELLED
    ORDER_EXPIRED TRADE_BUSTED]) { nodes {
  sequence type price quantity remainingQuantity reason order { id }
  execution { id side order { id } } account { id } token { id } subject { id } } } }
"""


def once(ask: Ask, document: str, **input: Any) -> Any:
    """A mutation with a key of its own."""
    return ask(document, {"input": input}, **{"Idempotency-Key": str(uuid.uuid4())})


class Trading:
    """A market with a buyer and a seller of the world's partner."""

    def __init__(self, world: World) -> None:
        self.token = new_market()
        self.buyer, self.seller = new_clients(2, world.partner)
        deposit(self.buyer, 100_000)
        give(self.token, {self.seller: 1_000})

    def order(
        self, account: Account, side: str, quantity: int, price: int, **more: Any
    ) -> dict[str, Any]:
        return {
            "accountID": f"Account|{account.pk}",
            "tokenID": f"Token|{self.token.pk}",
            "side": side,
            "quantity": quantity,
            "limitPrice": price,
            "timeInForce": "GTC",
        } | more


@pytest.fixture
def trading(world: World) -> Trading:
    return Trading(world)


def test_an_order_rests_and_trades_and_is_settled(trading: Trading, partner: Ask):
    sold = once(partner, PLACE, **trading.order(trading.seller, "SELL", 10, 99))
    resting = sold.data["placeOrder"]["order"]
    assert (resting["status"], resting["remainingQuantity"]) == ("OPEN", 10)
    assert sold.data["placeOrder"]["executions"] == []
    assert units(trading.token, trading.seller) == (1_000, 10)

    bought = once(
        partner,
        PLACE,
        **trading.order(trading.buyer, "BUY", 4, 101, clientOrderID="mine-1"),
    )
    order = bought.data["placeOrder"]["order"]
    assert (order["status"], order["filledQuantity"], order["filledValue"]) == (
        "FILLED",
        4,
        396,
    )
    [execution] = bought.data["placeOrder"]["executions"]
    assert order.pop("executions") == {"nodes": [{"id": execution["id"]}]}
    told = {k: execution[k] for k in ("side", "price", "quantity", "value")}
    assert told == {"side": "BUY", "price": 99, "quantity": 4, "value": 396}
    assert (execution["liquidity"], execution["tradeSequence"]) == ("TAKER", 1)
    assert purse(trading.buyer) == (100_000 - 396, 0)
    assert purse(trading.seller) == (396, 0)
    assert units(trading.token, trading.buyer) == (4, 0)
    assert units(trading.token, trading.seller) == (996, 6)

    # What is read later is what was answered.
    read = partner(
        "query ($a: ID!, $id: ID!) { order(accountID: $a, clientOrderID: "
        f'"mine-1") {{ {ORDER} account {{ id }} token {{ id }} executions {{ nodes {{ '
        f"{EXECUTION} }} }} }} same: order(id: $id) {{ id"
        " } node(id: $id) { id } }",
        {"a": f"Account|{trading.buyer.pk}", "id": order["id"]},
    ).data
    assert read["order"].pop("executions") == {"nodes": [execution]}
    assert read["order"] == order
    assert read["same"] == read["node"] == {"id": order["id"]}


def test_a_client_order_id_is_used_once(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 100, clientOrderID="a:1")
    first = once(partner, PLACE, **order).data["placeOrder"]["order"]["id"]
    again = once(partner, PLACE, **order | {"quantity": 2})
    assert again.code == "DUPLICATE_CLIENT_ORDER_ID"
    assert again.errors[0]["extensions"]["orderID"] == first
    assert Order.objects.count() == 1


def test_no_order_has_an_id_that_no_order_can_have(trading: Trading, partner: Ask):
    query = """query ($account: ID!, $id: String!) {
        order(accountID: $account, clientOrderID: $id) { id } }"""
    for text in ("\0", "", "é", "x" * 65):
        values = {"account": f"Account|{trading.buyer.pk}", "id": text}
        assert partner(query, values).data == {"order": None}


def test_a_key_places_one_order(trading: Trading, partner: Ask):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    order = {"input": trading.order(trading.buyer, "BUY", 1, 100)}
    first, again = (partner(PLACE, order, **key) for _ in range(2))
    assert first.body == again.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Order.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"quantity": 2_000}, "INSUFFICIENT_FUNDS"),
        ({"side": "SELL", "quantity": 1}, "INSUFFICIENT_UNITS"),
        ({"limitPrice": 79}, "PRICE_OUTSIDE_COLLAR"),
        ({"quantity": 2**63}, "ORDER_VALUE_TOO_LARGE"),
        ({"quantity": 0}, "BAD_USER_INPUT"),
        ({"limitPrice": 0}, "BAD_USER_INPUT"),
        ({"timeInForce": "GTD"}, "BAD_USER_INPUT"),
        ({"expiresAt": "2090-01-01"}, "BAD_USER_INPUT"),
        ({"clientOrderID": "a b"}, "BAD_USER_INPUT"),
        ({"accountID": "Account|00000000-0000-7000-8000-000000000000"}, "NOT_FOUND"),
        ({"tokenID": "Token|00000000-0000-7000-8000-000000000000"}, "NOT_FOUND"),
    ],
)
def test_a_refused_order_was_never_there(
    change: dict[str, Any], code: str, trading: Trading, partner: Ask
):
    order = trading.order(trading.buyer, "BUY", 1, 100) | change
    placed = once(partner, PLACE, **order)
    assert placed.code == code
    checked = partner(CHECK, {"input": order})
    if code in ("BAD_USER_INPUT", "NOT_FOUND"):
        assert checked.code == code
        assert placed.errors[0]["extensions"]["argument"].startswith("input.")
    else:
        assert checked.data["checkOrder"]["code"] == code
        assert checked.data["checkOrder"]["allowed"] is False
    assert not Order.objects.exists()
    assert purse(trading.buyer) == (100_000, 0)


def test_a_list_takes_what_is_allowed_in_its_order(trading: Trading, partner: Ask):
    def of_list(account: Account, *order: Any, **more: Any) -> dict[str, Any]:
        made = trading.order(account, *order, **more)
        del made["tokenID"]
        return made

    orders = [
        of_list(trading.seller, "SELL", 5, 100),
        of_list(trading.buyer, "BUY", 10, 100, clientOrderID="x"),
        of_list(trading.buyer, "BUY", 10, 100, clientOrderID="x"),
        of_list(trading.buyer, "BUY", 1, 79),
        of_list(trading.buyer, "BUY", 1, 100)
        | {"accountID": "Account|00000000-0000-7000-8000-000000000000"},
        of_list(trading.seller, "SELL", 5, 100),
    ]
    token = f"Token|{trading.token.pk}"
    answer = once(partner, PLACE_EACH, tokenID=token, orders=orders)
    results = answer.data["placeOrders"]["results"]
    assert [r["code"] or r["order"]["status"] for r in results] == [
        "FILLED",
        "FILLED",
        "DUPLICATE_CLIENT_ORDER_ID",
        "PRICE_OUTSIDE_COLLAR",
        "NOT_FOUND",
        "FILLED",
    ]
    statuses = Order.objects.order_by("priority").values_list("status", flat=True)
    assert [*statuses] == ["FILLED"] * 3
    refused = [r for r in results if r["code"]]
    assert all(r["message"] and r["order"] is None for r in refused)
    for wrong in ([], orders * 17):
        assert (
            once(partner, PLACE_EACH, tokenID=token, orders=wrong).code
            == "BAD_USER_INPUT"
        )
    wrong = once(
        partner, PLACE_EACH, tokenID=token, orders=[orders[0] | {"quantity": 0}]
    )
    assert wrong.errors[0]["extensions"]["argument"] == "input.orders.0.quantity"


def test_an_amended_order_keeps_its_place_only_with_fewer_units(
    trading: Trading, partner: Ask
):
    placed = once(partner, PLACE, **trading.order(trading.seller, "SELL", 10, 100))
    order = placed.data["placeOrder"]["order"]["id"]
    fewer = once(partner, AMEND, orderID=order, version=1, quantity=6)
    assert fewer.data["amendOrder"] == {
        "order": {
            "quantity": 6,
            "limitPrice": 100,
            "version": 2,
            "filledQuantity": 0,
        },
        "keptPriority": True,
        "executions": [],
    }
    stale = once(partner, AMEND, orderID=order, version=1, quantity=5)
    assert (stale.code, stale.errors[0]["extensions"]["version"]) == (
        "ORDER_CHANGED",
        2,
    )
    once(partner, PLACE, **trading.order(trading.buyer, "BUY", 2, 99))
    crossing = once(partner, AMEND, orderID=order, version=2, limitPrice=99)
    assert crossing.data["amendOrder"]["executions"] == [{"quantity": 2}]
    assert crossing.data["amendOrder"]["keptPriority"] is False
    less = once(partner, AMEND, orderID=order, version=3, quantity=2)
    assert less.errors[0]["extensions"]["minimum"] == 3
    assert less.errors[0]["extensions"]["argument"] == "input.quantity"
    once(partner, CANCEL, orderID=order)
    ended = once(partner, AMEND, orderID=order, version=3, quantity=4)
    assert (ended.code, ended.errors[0]["extensions"]["status"]) == (
        "ORDER_NOT_OPEN",
        "CANCELLED",
    )


def test_cancels_one_and_many_and_what_has_ended(trading: Trading, partner: Ask):
    ids = [
        once(partner, PLACE, **trading.order(account, side, 1, price)).data[
            "placeOrder"
        ]["order"]["id"]
        for account, side, price in (
            (trading.seller, "SELL", 105),
            (trading.seller, "SELL", 106),
            (trading.buyer, "BUY", 95),
        )
    ]
    for _ in range(2):
        assert once(partner, CANCEL, orderID=ids[0]).data["cancelOrder"] == {
            "order": {
                "id": ids[0],
                "status": "CANCELLED",
                "statusReason": "BY_PARTNER",
            }
        }
    account = f"Account|{trading.buyer.pk}"
    assert once(partner, CANCEL_EACH, accountID=account).data == {
        "cancelOrders": {"cancelled": 1}
    }
    assert once(partner, CANCEL_EACH).data == {"cancelOrders": {"cancelled": 1}}
    assert purse(trading.buyer) == (100_000, 0)
    assert units(trading.token, trading.seller) == (1_000, 0)


def test_account_and_token_tell_of_trading(trading: Trading, partner: Ask):
    once(partner, PLACE, **trading.order(trading.seller, "SELL", 10, 100))
    once(partner, PLACE, **trading.order(trading.buyer, "BUY", 4, 100))
    told = partner(
        """
        query ($t: ID!, $buyer: String!, $seller: String!, $ids: ID!) {
          token(id: $t) {
            market { phase tickSize lotSize referencePrice floorPrice capPrice
              nextPhase nextPhaseAt phaseSince indicativePrice }
            trades { totalCount nodes { sequence price quantity busted } } }
          orders(tokenID: $ids) { totalCount nodes { side } }
          buyer: account(id: $buyer) {
            orders(status: FILLED) { nodes { filledQuantity } }
            executions(tradedAfter: "2020-01-01") { nodes { quantity liquidity } }
            cashEntries(first: 1) { nodes { amount execution { side price } } }
            positions { nodes { token { id } quantity available } } }
          seller: account(id: $seller) {
            executions { nodes { quantity liquidity } }
            positions { nodes { quantity reserved locked available lockedUntil } } }
        }
        """,
        {
            "t": f"Token|{trading.token.pk}",
            "ids": f"Token|{trading.token.pk}",
            "buyer": f"Account|{trading.buyer.pk}",
            "seller": f"Account|{trading.seller.pk}",
        },
    ).data
    market = told["token"]["market"]
    assert market.pop("nextPhaseAt") > market.pop("phaseSince")
    assert market == {
        "phase": "CONTINUOUS",
        "tickSize": 1,
        "lotSize": 1,
        "referencePrice": 100,
        "floorPrice": 80,
        "capPrice": 120,
        "nextPhase": "CLOSED",
        "indicativePrice": None,
    }
    assert told["token"]["trades"] == {
        "totalCount": 1,
        "nodes": [{"sequence": 1, "price": 100, "quantity": 4, "busted": False}],
    }
    assert told["orders"] == {
        "totalCount": 2,
        "nodes": [{"side": "BUY"}, {"side": "SELL"}],
    }
    assert told["buyer"] == {
        "orders": {"nodes": [{"filledQuantity": 4}]},
        "executions": {"nodes": [{"quantity": 4, "liquidity": "TAKER"}]},
        "cashEntries": {
            "nodes": [{"amount": -400, "execution": {"side": "BUY", "price": 100}}]
        },
        "positions": {
            "nodes": [
                {
                    "token": {"id": f"Token|{trading.token.pk}"},
                    "quantity": 4,
                    "available": 4,
                }
            ]
        },
    }
    assert told["seller"] == {
        "executions": {"nodes": [{"quantity": 4, "liquidity": "MAKER"}]},
        "positions": {
            "nodes": [
                {
                    "quantity": 996,
                    "reserved": 6,
                    "locked": 0,
                    "available": 990,
                    "lockedUntil": None,
                }
            ]
        },
    }


def test_another_partners_things_do_not_exist(
    trading: Trading, partner: Ask, world: World
):
    approved_grant(world.observer)
    other = Ask(approved_key(world.observer, list(Scope))[1])
    mine = trading.order(trading.seller, "SELL", 1, 100, clientOrderID="c")
    order = once(partner, PLACE, **mine).data["placeOrder"]["order"]["id"]
    account = f"Account|{trading.seller.pk}"
    nowhere = "Order|00000000-0000-7000-8000-000000000000"
    for id in (order, nowhere):
        for document, more in (
            (AMEND, {"orderID": id, "version": 1, "quantity": 1}),
            (CANCEL, {"orderID": id}),
        ):
            refused = once(other, document, **more)
            assert (refused.code, refused.errors[0]["message"]) == (
                "NOT_FOUND",
                "You have no order of this id.",
            )
        read = other(
            "query ($id: ID!) { order(id: $id) { id } node(id: $id) { id } }",
            {"id": id},
        )
        assert read.data == {"order": None, "node": None}
    refused = once(other, PLACE, **mine)
    assert refused.code == "NOT_FOUND"
    assert other(CHECK, {"input": mine}).code == "NOT_FOUND"
    found = other(
        'query ($a: ID!) { order(accountID: $a, clientOrderID: "c") { id }'
        " orders(accountID: $a) { totalCount } all: orders { totalCount }"
        " events(accountID: $a) { totalCount } }",
        {"a": account},
    )
    assert found.data == {
        "order": None,
        "orders": {"totalCount": 0},
        "all": {"totalCount": 0},
        "events": {"totalCount": 0},
    }
    assert once(other, CANCEL_EACH, accountID=account).code == "NOT_FOUND"
    assert once(other, CANCEL_EACH).data == {"cancelOrders": {"cancelled": 0}}
    assert Order.objects.get().status == "OPEN"


def test_a_private_token_needs_its_grant(trading: Trading, world: World, partner: Ask):
    # The market's issuer is not granted to the partner.
    Token.objects.filter(pk=trading.token.pk).update(visibility="PRIVATE")
    order = trading.order(trading.seller, "SELL", 1, 100)
    assert once(partner, PLACE, **order).code == "NOT_FOUND"
    approved_grant(world.partner, trading.token.issuer)
    granted = Ask(approved_key(world.partner, [Scope.TRADING_WRITE])[1])
    placed = once(granted, CANCEL_EACH, tokenID=order["tokenID"])
    assert placed.data == {"cancelOrders": {"cancelled": 0}}


@pytest.mark.parametrize("scope", [Scope.TRADING_READ, Scope.TRADING_WRITE])
def test_to_read_and_to_write_need_scopes_of_their_own(
    scope: Scope, trading: Trading, world: World
):
    ask = Ask(approved_key(world.partner, [scope])[1])
    order = trading.order(trading.seller, "SELL", 1, 100)
    wrote = once(
        ask,
        "mutation ($input: PlaceOrderInput!) { placeOrder(input: $input) {"
        " order { id status account { id status } token { symbol } } } }",
        **order,
    )
    read = ask("{ orders { totalCount } }")
    if scope == Scope.TRADING_WRITE:
        assert wrote.data["placeOrder"]["order"]["status"] == "OPEN"
        assert read.code == "FORBIDDEN"
    else:
        assert wrote.code == "FORBIDDEN"
        assert read.data == {"orders": {"totalCount": 0}}


def test_what_is_selected_of_a_mutation_is_bounded(trading: Trading, partner: Ask):
    dear = PLACE.replace("executions {", "executions(first: 100) {", 1).replace(
        "nodes { id }", "nodes { id order { id executions(first: 5) { totalCount } } }"
    )
    order = trading.order(trading.seller, "SELL", 1, 100)
    refused = once(partner, dear, **order)
    assert refused.code == "MAX_COST_EXCEEDED"
    assert refused.errors[0]["extensions"]["maximum"] == 70
    counts = " ".join(f"c{n}: orders(first: 1) {{ totalCount }}" for n in range(8))
    many = f"""mutation ($input: PlaceOrderInput!) {{ placeOrder(input: $input) {{
        order {{ account {{ {counts} }} }} }} }}"""
    refused = once(partner, many, **order)
    assert refused.code == "MAX_COST_EXCEEDED"
    told = refused.errors[0]["message"]
    assert "costs 172 points; at most 70" in told
    assert not Order.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_events_tell_of_each_side_once_in_order(world: World, partner: Ask):
    trading = Trading(world)
    other_partner = new_partner()
    approved_grant(other_partner)
    [other] = new_clients(1, other_partner)
    deposit(other, 10_000)
    theirs = Ask(approved_key(other_partner, list(Scope))[1])
    sold = once(partner, PLACE, **trading.order(trading.seller, "SELL", 10, 100))
    order = sold.data["placeOrder"]["order"]["id"]
    once(partner, AMEND, orderID=order, version=1, quantity=8)
    bought = once(theirs, PLACE, **trading.order(other, "BUY", 3, 100))
    once(partner, CANCEL, orderID=order)

    told = partner(EVENTS).data["events"]["nodes"]
    assert [
        (e["type"], e["price"], e["quantity"], e["remainingQuantity"], e["reason"])
        for e in told
    ] == [
        ("ORDER_ACCEPTED", 100, 10, 10, None),
        ("ORDER_AMENDED", 100, 8, 8, None),
        ("ORDER_TRADED", 100, 3, 5, None),
        ("ORDER_CANCELLED", None, None, 5, "BY_PARTNER"),
    ]
    for event in told:
        assert event["order"] == event["subject"] == {"id": order}
        assert event["account"] == {"id": f"Account|{trading.seller.pk}"}
        assert event["token"] == {"id": f"Token|{trading.token.pk}"}
    [execution] = [e["execution"] for e in told if e["execution"]]
    assert execution["side"] == "SELL"
    assert execution["order"] == {"id": order}
    sequences = [event["sequence"] for event in told]
    assert sequences == [*range(sequences[0], sequences[0] + 4)]

    their = theirs(EVENTS).data["events"]["nodes"]
    assert [e["type"] for e in their] == ["ORDER_ACCEPTED", "ORDER_TRADED"]
    [fill] = bought.data["placeOrder"]["executions"]
    assert their[1]["execution"]["id"] == fill["id"] != execution["id"]
    of_account = theirs(
        "query ($a: ID!) { events(accountID: $a) { nodes { type } } }",
        {"a": f"Account|{other.pk}"},
    )
    assert [e["type"] for e in of_account.data["events"]["nodes"]][-2:] == [
        "ORDER_ACCEPTED",
        "ORDER_TRADED",
    ]


@pytest.fixture
def busy(trading: Trading, partner: Ask) -> Trading:
    """A market whose two accounts have traded 400 times with each other."""
    token = trading.token
    assert place(token, sell(trading.seller, 400, 100))
    for _ in range(4):
        assert place(token, *(buy(trading.buyer, 1, 100) for _ in range(100)))
    with connection.cursor() as cursor:
        tables = ["trading_order", "trading_execution", "trading_bust"]
        cursor.execute("SELECT partnerapi_analyze(%s)", [tables])
    return trading


def rows_read(ask: Ask, document: str, table: str, variables: Any) -> dict[str, int]:
    """Rows that the statements on a table have read, by the table that held them."""
    read: Counter[str] = Counter()
    for nodes in all_planned(ask, document, table, variables):
        for node in nodes:
            if name := node.get("Relation Name"):
                rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                read[name] += int(rows * node["Actual Loops"])
    return read


@pytest.mark.usefixtures("unlimited_budgets")
@pytest.mark.parametrize("arguments", ["first: 2", "last: 2"])
def test_a_page_of_executions_reads_what_it_answers(
    busy: Trading, partner: Ask, arguments: str
):
    document = f"""
    query ($a: String!, $cursor: String) {{ account(id: $a) {{
      executions({arguments}, CUT: $cursor) {{
        nodes {{ {EXECUTION} }} pageInfo {{ startCursor endCursor }} }} }} }}
    """.replace("CUT", "after" if "first" in arguments else "before")
    for account in (busy.buyer, busy.seller):
        asked = {"a": f"Account|{account.pk}", "cursor": None}
        found = []
        for _ in range(2):
            page = partner(document, asked).data["account"]["executions"]
            found += [int(node["tradeSequence"]) for node in page["nodes"]]
            read = rows_read(partner, document, "trading_fill", asked)
            assert read.keys() <= {"trading_execution", "trading_bust"}
            assert read["trading_execution"] <= 5, asked
            asked["cursor"] = page["pageInfo"][
                "endCursor" if "first" in arguments else "startCursor"
            ]
        assert found == ([1, 2, 3, 4] if "first" in arguments else [399, 400, 397, 398])


def test_executions_are_counted_without_their_orders(busy: Trading, partner: Ask):
    document = """query ($a: String!) {
      account(id: $a) { executions(first: 1) { totalCount } } }"""
    asked = {"a": f"Account|{busy.buyer.pk}"}
    counted = partner(document, asked).data["account"]["executions"]
    assert counted == {"totalCount": 400}
    [other] = new_clients(1, busy.buyer.partner)
    deposit(other, 1_000)
    assert place(busy.token, sell(busy.seller, 1, 100), buy(other, 1, 100))
    asked = {"a": f"Account|{other.pk}"}
    counted = partner(document, asked).data["account"]["executions"]
    assert counted == {"totalCount": 1}
    read = rows_read(partner, document, "trading_fill", asked)
    assert read == {"trading_execution": 2}, "one for the page, one for the count"


def test_orders_of_a_token_are_found_without_the_others(busy: Trading, partner: Ask):
    other = new_market()
    give(other, {busy.seller: 10})
    assert place(other, sell(busy.seller, 10, 100))
    document = "query ($t: ID!) { orders(tokenID: $t, first: 2) { nodes { id } } }"
    asked = {"t": f"Token|{other.pk}"}
    assert len(partner(document, asked).data["orders"]["nodes"]) == 1
    read = rows_read(partner, document, "trading_order", asked)
    assert sum(read.values()) <= 3


def test_an_amendment_changes_something(trading: Trading, partner: Ask):
    placed = once(partner, PLACE, **trading.order(trading.seller, "SELL", 10, 100))
    order = placed.data["placeOrder"]["order"]["id"]
    for nothing in ({}, {"quantity": None, "limitPrice": None}):
        refused = once(partner, AMEND, orderID=order, version=1, **nothing)
        assert refused.code == "BAD_USER_INPUT"
        assert "`quantity`" in refused.errors[0]["message"]
    assert Order.objects.get(pk=order.removeprefix("Order|")).version == 1


def test_reading_takes_the_same_number_of_statements_for_more(
    trading: Trading, partner: Ask
):
    document = (
        f"{{ orders {{ nodes {{ {ORDER} account {{ id }} token {{ id }} executions {{"
        f" nodes {{ {EXECUTION} }} }} }} }} }}"
    )
    counts = []
    for _ in range(2):
        for price in (101, 102, 103):
            order = trading.order(trading.seller, "SELL", 1, price)
            once(partner, PLACE, **order)
        with CaptureQueriesContext(connection) as captured:
            partner(document)
        counts.append(len(captured))
    assert counts[0] == counts[1]

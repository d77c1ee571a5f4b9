"""The request of each operation gets the answer that the reference shows."""

import json
import urllib.request
from datetime import date
from uuid import uuid4

import psycopg
import pytest
from graphql import extend_schema, parse

from partnerapi.schema import schema
from partnerapi.site.exchanges import of_operations
from partnerapi.site.pages import SANDBOX_SDL_FILE
from tests.examples.shapes import differences
from tests.marketdata.documents.invented import invented_content
from tests.system import System
from tests.waiting import PATIENCE_SECONDS, until

# They are asked after what they ask about, and in this order.
LAST = (
    "account", "blockOrders", "orderBlocks", "releaseOrders", "export",
    "idempotentRequest", "placeOrder", "order", "orders",
    "refusedOrders", "executions", "amendOrder", "cancelOrder", "placeOrders",
    "cancelOrders", "subscribe", "amendSubscription", "withdrawSubscription",
    "createWebhookEndpoint", "rollWebhookSecret", "testWebhookEndpoint",
    "redeliverWebhooks", "deleteWebhookEndpoint",
    "sandboxActivate", "sandboxDeposit", "sandboxFill", "sandboxAdvanceMarket",
    "sandboxReportConformance",
)  # fmt: skip
BY_NAME = sorted({*of_operations()} - {*LAST}) + [*LAST]
CHANGED = "updateAccountStatus"
KEY = "3f0c1d52-8a44-4d7e-9b1a-6c2e5f7a8b90"
EXPORT = "Export|0198b2c5-3a10-7d46-b1f2-8c94e0d57a63"
SUBSCRIPTION = "OfferingSubscription|0198b2c6-7a21-7c40-8e15-2d9f4b6a8c01"
ORDER = "Order|0198b2c6-4c8e-7a19-b2d7-3f5e8c9a6b01"
ACCOUNT = "Account|0198b2c5-7d21-7e08-a3c4-5f6b9a0e1d72"
BOOK = '{ token(symbol: "TIDEWICK") { orderBook(depth: 1) { bids { price } } } }'
ENDPOINT = "WebhookEndpoint|0198b2c7-2b4d-7f31-9c05-6a1e8d3b7f42"
BUY_ONE = """
mutation {
  placeOrder(input: {
    accountID: "Account|0187ae1f-56e3-7218-a6ce-8fa1fc06110a"
    tokenID: "Token|018d790f-e13c-7e3b-a11f-a5e6051253df"
    side: BUY quantity: 1 limitPrice: %d timeInForce: %s
  }) { order { id } executions { price } }
}
"""


def test_every_operation_has_a_request_and_its_answer():
    both = extend_schema(schema, parse(SANDBOX_SDL_FILE.read_text()))
    fields = {*both.query_type.fields, *both.mutation_type.fields}
    assert set(of_operations()) == fields, (
        "add NAME.graphql and NAME.json to templates/examples/operations"
    )


@pytest.fixture(scope="module")
def used() -> dict[str, str]:
    """What the examples name, by what it is here."""
    ids = {name: name for name in (EXPORT, ORDER, ACCOUNT, ENDPOINT, SUBSCRIPTION)}
    return ids | {KEY: str(uuid4())}


def ask(server: dict, document: str, key: str) -> dict:
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": server["key"],
        "Idempotency-Key": key,
    }
    body = json.dumps({"query": document}).encode()
    request = urllib.request.Request(server["graphql"], body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        answer: dict = json.load(response)
    return answer


def listed_refusals(server: dict) -> list[dict]:
    answer = ask(server, "{ refusedOrders(first: 1) { nodes { id } } }", str(uuid4()))
    refusals: list[dict] = answer["data"]["refusedOrders"]["nodes"]
    return refusals


def issue_invoice(system: System) -> None:
    """One of a month before the sandbox had trades."""
    with psycopg.connect(system.variable("DATABASE_URL")) as connection:
        found = connection.execute("SELECT id FROM accounts_partner WHERE login='demo'")
        [(demo,)] = found.fetchall()
        content = invented_content(1, "INVOICE", date(2026, 1, 1), demo)
        connection.execute(
            "SELECT trading_issue_document(%s, %s)", [content, b"%PDF-1.4"]
        )


@pytest.mark.parametrize("name", BY_NAME)
def test_the_request_of_an_operation_gets_its_answer(
    name: str, running_system: System, running_server: dict, used: dict[str, str]
):
    document, shown = of_operations()[name].request, of_operations()[name].answer
    key = used[KEY] if name == CHANGED else str(uuid4())
    if name == "executions":
        market = '{ token(symbol: "TIDEWICK") { market { capPrice tickSize } } }'
        found = ask(running_server, market, str(uuid4()))["data"]["token"]["market"]
        price = found["capPrice"] - found["capPrice"] % found["tickSize"]
        bought = ask(running_server, BUY_ONE % (price, "IOC"), str(uuid4()))
        assert bought["data"]["placeOrder"]["executions"], bought
    if name == "invoices":
        issue_invoice(running_system)
    if name == "refusedOrders":
        # It appears within a second.
        ask(running_server, BUY_ONE % (1, "GTC"), str(uuid4()))
        until(lambda: listed_refusals(running_server))
    if name == "sandboxFill":
        [best] = ask(running_server, BOOK, str(uuid4()))["data"]["token"]["orderBook"][
            "bids"
        ]
        rests = ask(running_server, BUY_ONE % (best["price"], "GTC"), str(uuid4()))
        used[ORDER] = rests["data"]["placeOrder"]["order"]["id"]
    for example, here in used.items():
        document = document.replace(example, here)
    answer = ask(running_server, document, key)
    if name == "acknowledgeStatement":
        # The sandbox has signed no statement that the example could have signed.
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND", answer
        return
    assert differences(json.loads(shown), answer) == [], answer.get("errors")
    if name == "openAccount":
        used[ACCOUNT] = answer["data"]["openAccount"]["account"]["id"]
    if name == "sandboxAdvanceMarket":
        ask(running_server, document.replace("HALTED", "CALL"), str(uuid4()))
        running_system.end_call("TIDEWICK")
    if name == "createExport":
        used[EXPORT] = answer["data"]["createExport"]["export"]["id"]
    if name == "createWebhookEndpoint":
        used[ENDPOINT] = answer["data"]["createWebhookEndpoint"]["endpoint"]["id"]
    if name == "subscribe":
        used[SUBSCRIPTION] = answer["data"]["subscribe"]["subscription"]["id"]
    if name == "placeOrder":
        used[ORDER] = answer["data"]["placeOrder"]["order"]["id"]

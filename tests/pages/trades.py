"""An order of the demo partner that has traded, in the running system."""

import json
import urllib.request
from typing import Any
from uuid import uuid4

from tests.waiting import PATIENCE_SECONDS, until

START = """
{ accounts(last: 1, status: ACTIVE) { nodes { id } }
  token(symbol: "TIDEWICK") { id market { tickSize capPrice } } }
"""
PLACE = """
mutation ($input: PlaceOrderInput!) {
  placeOrder(input: $input) { order { id status } } }
"""


def filled_order(server: dict) -> str:
    """Buy a unit, as soon as someone sells one; the order's uuid."""
    start = ask(server, START)
    [account], token = start["accounts"]["nodes"], start["token"]
    market = token["market"]
    order = {
        "accountID": account["id"],
        "tokenID": token["id"],
        "side": "BUY",
        "quantity": 1,
        "limitPrice": market["capPrice"] // market["tickSize"] * market["tickSize"],
        "timeInForce": "IOC",
    }

    def bought() -> str:
        named = order | {"clientOrderID": str(uuid4())}
        placed = ask(server, PLACE, input=named)["placeOrder"]["order"]
        return placed["id"] if placed["status"] == "FILLED" else ""

    return until(bought, pause=0.5).removeprefix("Order|")


def ask(server: dict, query: str, **variables: Any) -> dict:
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": server["key"],
        "Idempotency-Key": str(uuid4()),
    }
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(server["graphql"], body, headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        answer = json.load(response)
    assert set(answer) == {"data"}, answer
    return answer["data"]

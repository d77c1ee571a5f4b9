"""Buys one unit for a client, exactly once, and finds it in the register.

Needs PARTNER_API_URL, PARTNER_API_KEY and: pip install "gql[requests]>=4"
"""

import os
import uuid

from gql import Client, GraphQLRequest
from gql.transport.requests import RequestsHTTPTransport

START = """
query {
  accounts(last: 1, status: ACTIVE) {
    nodes { id cash { available depositReference } }
  }
  token(symbol: "TIDEWICK") { id market { phase tickSize capPrice } }
}
"""
PLACE = """
mutation ($input: PlaceOrderInput!) {
  placeOrder(input: $input) {
    order { id status filledQuantity filledValue }
    executions { price quantity ledgerSequence }
  }
}
"""
MINE = """
query ($account: ID!, $name: String!) {
  order(accountID: $account, clientOrderID: $name) {
    status filledQuantity executions { nodes { price quantity at } }
  }
}
"""
TABLE = """
query ($account: String!) {
  account(id: $account) { holdings { balance token { symbol } } }
  issuer(slug: "tidewick-instruments") {
    capitalizationTable { date holderCount }
  }
}
"""

headers = {"X-Token-Auth": os.environ["PARTNER_API_KEY"]}
# Retries with the same body and key when a response is lost or asks to wait.
transport = RequestsHTTPTransport(
    os.environ["PARTNER_API_URL"],
    headers=headers,
    timeout=15,
    retries=4,
    retry_status_forcelist=(409, 429, 500, 502, 503, 504),
)

with Client(transport=transport) as session:

    def ask(document, sent=None, **variables):
        request = GraphQLRequest(document, variable_values=variables)
        options = {"headers": headers | sent} if sent else {}
        return session.execute(request, extra_args=options)

    # The deposit: a client's bank transfer names the reference of the account.
    start = ask(START)
    account, token = start["accounts"]["nodes"][0], start["token"]
    cash, market = account["cash"], token["market"]
    print("deposit: name", cash["depositReference"], "available:", cash["available"])

    # The order: at the worst price allowed, immediately or not at all.
    key = str(uuid.uuid4())
    order = {
        "accountID": account["id"],
        "tokenID": token["id"],
        "side": "BUY",
        "quantity": 1,
        "limitPrice": market["capPrice"] // market["tickSize"] * market["tickSize"],
        "timeInForce": "IOC",
        "clientOrderID": key,
    }
    placed = ask(PLACE, {"Idempotency-Key": key}, input=order)["placeOrder"]
    for execution in placed["executions"]:
        print("filled:", execution["quantity"], "at", execution["price"], "cents")

    # If the response was lost, your name for the order finds it.
    mine = ask(MINE, account=account["id"], name=key)["order"]
    print("order:", mine["status"])

    # The capitalization table, updated in the order's transaction.
    told = ask(TABLE, account=account["id"])
    table = told["issuer"]["capitalizationTable"]
    print(
        "holds:",
        {h["token"]["symbol"]: h["balance"] for h in told["account"]["holdings"]},
    )
    print("holders:", table["holderCount"])

"""A client's first trade in a sandbox, from an account to the capitalization table.

It needs no packages: KEY=service-apikey_… python first_trade.py
"""

import json
import os
import urllib.request
import uuid

API = os.environ.get("API", "http://localhost:8080/graphql")
NEW = uuid.uuid4().hex


def ask(document, **variables):
    """The data of the answer; a mutation takes effect once."""
    headers = {
        "Content-Type": "application/json",
        "X-Token-Auth": os.environ["KEY"],
        "Idempotency-Key": str(uuid.uuid4()),
    }
    body = json.dumps({"query": document, "variables": variables}).encode()
    request = urllib.request.Request(API, body, headers)
    with urllib.request.urlopen(request, timeout=15) as response:
        answer = json.load(response)
    if "errors" in answer:
        raise SystemExit(json.dumps(answer["errors"], indent=2))
    return answer["data"]


OPEN = """mutation ($email: String!, $reference: String!) {
  openAccount(input: {type: INDIVIDUAL, name: "Mara Holm", email: $email,
    countryCode: "FR", reference: $reference}) { account { id user { id } } } }"""
ACTIVATE = """mutation ($id: ID!) {
  sandboxActivate(input: {accountID: $id}) { account { status } } }"""
DEPOSIT = """mutation ($id: ID!) {
  sandboxDeposit(input: {accountID: $id, amount: 1000000}) {
    account { cash { available } } } }"""
MARKET = """{ token(symbol: "TIDEWICK") {
  id market { tickSize referencePrice } } }"""
PLACE = """mutation ($account: ID!, $token: ID!, $price: Uint64!) {
  placeOrder(input: {accountID: $account, tokenID: $token, side: BUY, quantity: 2,
    limitPrice: $price, timeInForce: GTC}) { order { id status } } }"""
FILL = """mutation ($id: ID!) {
  sandboxFill(input: {orderID: $id}) { order { status filledQuantity } } }"""
TABLE = """{ issuer(slug: "tidewick-instruments") { capitalizationTable {
  date holderCount holders { userID holderName tokenBalances { balanceSpecificToken } }
} } }"""

account = ask(OPEN, email=f"{NEW}@holm.example", reference=NEW)["openAccount"][
    "account"
]
owner = account["user"]["id"]
print("opened   ", account["id"])
active = ask(ACTIVATE, id=account["id"])["sandboxActivate"]["account"]
print("activated", active["status"])
paid = ask(DEPOSIT, id=account["id"])["sandboxDeposit"]["account"]
print("paid in  ", paid["cash"]["available"], "cents")
token = ask(MARKET)["token"]
tick = token["market"]["tickSize"]
price = token["market"]["referencePrice"] // tick * tick
placed = ask(PLACE, account=account["id"], token=token["id"], price=price)
order = placed["placeOrder"]["order"]
print("ordered   2 units at", price, "cents:", order["status"])
filled = ask(FILL, id=order["id"])["sandboxFill"]["order"]
print("traded   ", filled["filledQuantity"], "units:", filled["status"])
table = ask(TABLE)["issuer"]["capitalizationTable"]
[holder] = [
    each for each in table["holders"] if each["userID"] == account["user"]["id"]
]
[balance] = holder["tokenBalances"]
print("holds    ", balance["balanceSpecificToken"], "units as", holder["holderName"])
print("the table has", table["holderCount"], "holders at", table["date"])

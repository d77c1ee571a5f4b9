"""The mutations that drive a sandbox, sent to one as `up` runs it."""

import json
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from graphql import build_schema, extend_schema, parse

from partnerapi.core.starting import StartRefused
from partnerapi.sandbox.data.approvals import ASKER, colleague
from partnerapi.sandbox.starting import check_seeded
from partnerapi.site.pages import SANDBOX_SDL_FILE, SDL_FILE
from tests.system import System
from tests.waiting import PATIENCE_SECONDS

OPEN = """
mutation { openAccount(input: {type: INDIVIDUAL, name: "Mara Holm",
  email: "mara-%(new)s@holm.example", countryCode: "FR", reference: "%(new)s"}) {
  account { id status } } }
"""
ACTIVATE = """
mutation ($id: ID!) { sandboxActivate(input: {accountID: $id}) {
  account { id status } } }
"""
DEPOSIT = """
mutation ($id: ID!, $amount: Uint64!) {
  sandboxDeposit(input: {accountID: $id, amount: $amount}) {
    account { cash { balance available } } } }
"""
MARKETS = """
{ markets(phase: CONTINUOUS) { nodes { tickSize lotSize
  token { id symbol issuer { slug }
    orderBook(depth: 1) { asks { price } bids { price } } }
} } }
"""
PLACE = """
mutation ($account: ID!, $token: ID!, $quantity: Uint64!, $price: Uint64!) {
  placeOrder(input: {accountID: $account, tokenID: $token, side: BUY,
    quantity: $quantity, limitPrice: $price, timeInForce: GTC}) {
    order { id status } } }
"""
FILL = """
mutation ($id: ID!) { sandboxFill(input: {orderID: $id}) {
  order { status filledQuantity } } }
"""
DRIVING = {
    "sandboxActivate",
    "sandboxAdvanceMarket",
    "sandboxDeposit",
    "sandboxFill",
    "sandboxReportConformance",
}
ADVANCE = """
mutation ($id: ID!, $phase: MarketPhase!) {
  sandboxAdvanceMarket(input: {tokenID: $id, phase: $phase}) {
    token { market { phase nextPhase } } } }
"""
OWNED = """
query ($id: String!) { account(id: $id) {
  positions(first: 1) { nodes { quantity token { id } } } } }
"""


@pytest.fixture
def ask(running_server: dict) -> Any:
    def send(query: str, **variables: Any) -> Any:
        headers = {
            "Content-Type": "application/json",
            "X-Token-Auth": running_server["key"],
            "Idempotency-Key": str(uuid.uuid4()),
        }
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(running_server["graphql"], body, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)

    return send


def told(answer: Any) -> Any:
    assert "errors" not in answer, answer
    return answer["data"]


def code(answer: Any) -> str:
    [error] = answer["errors"]
    return error["extensions"]["code"]


def test_leads_a_new_client_to_units_of_a_company(ask: Any):
    opened = told(ask(OPEN % {"new": uuid.uuid4()}))["openAccount"]["account"]
    assert opened["status"] == "PENDING"
    account = opened["id"]
    assert code(ask(DEPOSIT, id=account, amount=1)) == "ACCOUNT_NOT_ACTIVE"

    active = told(ask(ACTIVATE, id=account))["sandboxActivate"]["account"]
    assert active == {"id": account, "status": "ACTIVE"}
    assert code(ask(DEPOSIT, id=account, amount=0)) == "BAD_USER_INPUT"
    paid = told(ask(DEPOSIT, id=account, amount=5_000_000))["sandboxDeposit"]
    assert paid["account"]["cash"] == {"balance": 5_000_000, "available": 5_000_000}

    traded = [
        market
        for market in told(ask(MARKETS))["markets"]["nodes"]
        if market["token"]["orderBook"]["bids"]
    ]
    market, token = traded[0], traded[0]["token"]
    price = token["orderBook"]["bids"][0]["price"]
    placed = told(
        ask(
            PLACE,
            account=account,
            token=token["id"],
            quantity=market["lotSize"],
            price=price,
        )
    )["placeOrder"]["order"]
    filled = told(ask(FILL, id=placed["id"]))["sandboxFill"]["order"]
    assert filled == {"status": "FILLED", "filledQuantity": market["lotSize"]}
    assert told(ask(FILL, id=placed["id"]))["sandboxFill"]["order"] == filled
    [position] = told(ask(OWNED, id=account))["account"]["positions"]["nodes"]
    assert position == {"quantity": market["lotSize"], "token": {"id": token["id"]}}


def test_moves_a_market_through_a_halt(ask: Any, running_system: System):
    found = told(ask(MARKETS))["markets"]["nodes"][-1]["token"]
    token = found["id"]

    def advance(phase: str) -> Any:
        found = told(ask(ADVANCE, id=token, phase=phase))["sandboxAdvanceMarket"]
        return found["token"]["market"]["phase"]

    assert advance("HALTED") == "HALTED"
    assert code(ask(ADVANCE, id=token, phase="HALTED")) == "BAD_USER_INPUT"
    assert code(ask(ADVANCE, id=token, phase="CONTINUOUS")) == "BAD_USER_INPUT"
    assert advance("CLOSED") == "CLOSED"
    # It opens with a call, as after each halt.
    assert code(ask(ADVANCE, id=token, phase="CONTINUOUS")) == "BAD_USER_INPUT"
    assert advance("HALTED") == "HALTED"
    assert advance("CALL") == "CALL"
    assert code(ask(ADVANCE, id=token, phase="CALL")) == "BAD_USER_INPUT"
    running_system.end_call(found["symbol"])


def test_takes_many_deposits_at_once(ask: Any):
    account = told(ask(OPEN % {"new": uuid.uuid4()}))["openAccount"]["account"]["id"]
    told(ask(ACTIVATE, id=account))
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: ask(DEPOSIT, id=account, amount=7), range(8))]
    balances = {
        told(answer)["sandboxDeposit"]["account"]["cash"]["balance"]
        for answer in answers
    }
    assert max(balances) == 8 * 7


def test_many_changes_of_a_phase_at_once_are_made_or_refused(
    ask: Any, running_system: System
):
    found = told(ask(MARKETS))["markets"]["nodes"][-1]["token"]
    token = found["id"]
    phases = ["HALTED", "CALL", "CLOSED"] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda to: ask(ADVANCE, id=token, phase=to), phases)]
    refused = [answer for answer in answers if "errors" in answer]
    assert {code(answer) for answer in refused} <= {"BAD_USER_INPUT", "TIMEOUT"}
    ask(ADVANCE, id=token, phase="HALTED")
    told(ask(ADVANCE, id=token, phase="CALL"))
    running_system.end_call(found["symbol"])


def test_reaches_nothing_of_another_partner(ask: Any):
    other = f"Account|{uuid.uuid4()}"
    assert code(ask(ACTIVATE, id=other)) == "NOT_FOUND"
    assert code(ask(DEPOSIT, id=other, amount=1)) == "NOT_FOUND"
    assert code(ask(FILL, id=f"Order|{uuid.uuid4()}")) == "NOT_FOUND"
    answer = ask(ADVANCE, id=f"Token|{uuid.uuid4()}", phase="HALTED")
    assert code(answer) == "NOT_FOUND"


def test_stands_in_a_file_of_its_own_and_not_in_that_of_production(
    running_server: dict, client: Any
):
    address = running_server["graphql"].replace("/graphql", "/sandbox.graphql")
    with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as response:
        assert response.read() == SANDBOX_SDL_FILE.read_bytes()
    production = build_schema(SDL_FILE.read_text())
    both = extend_schema(production, parse(SANDBOX_SDL_FILE.read_text()))
    added = set(both.mutation_type.fields) - set(production.mutation_type.fields)
    assert added == DRIVING
    assert client.get("/sandbox.graphql").status_code == 404


def test_is_refused_where_the_database_is_not_seeded(db: None, settings: Any):
    check_seeded()
    settings.PARTNER_API_DRIVEN = True
    with pytest.raises(StartRefused, match="no sandbox data"):
        check_seeded()
    colleague(ASKER)
    check_seeded()

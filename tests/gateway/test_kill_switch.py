"""X-Kill-Switch: which documents it takes, how often, and past whom it goes."""

import contextlib
import uuid
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest

from accounts.access import Scope
from marketdata.trading.models import Order, OrderBlock
from partnerapi.core.database import value_of
from partnerapi.sandbox.data.approvals import approved_key
from tests.api.test_orders import PLACE, PLACE_EACH, Trading, once, trading
from tests.characters import Answer, Ask, World
from tests.gateway.conftest import UNLIMITED, WebServer, serving
from tests.marketdata.trading.test_controls import BLOCK, CANCEL, LATER
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    new_clients,
    new_market,
    new_partner,
    place,
)
from tests.operations.test_probes import locked
from tests.operations.test_web_worker import connect
from tests.threads import in_threads
from tests.waiting import until

__all__ = ["trading"]

KILL = {"X-Kill-Switch": "1"}
COMMITS = pytest.mark.django_db(transaction=True)


def kill(ask: Ask, document: str = CANCEL, **input: Any) -> Answer:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    return ask(document, {"input": input}, **KILL, **key)


def test_only_documents_that_stop_orders_have_the_lane(trading: Trading, partner: Ask):
    order = trading.order(trading.buyer, "BUY", 1, 100)
    assert kill(partner, PLACE, **order).status == 400
    assert partner("{ viewer { login } }", **KILL).code == "BAD_REQUEST"
    assert not Order.objects.exists()
    once(partner, PLACE, **order)
    assert kill(partner, block=True).data["cancelOrders"]["cancelled"] == 1
    assert kill(partner, BLOCK).data["blockOrders"]["block"]
    assert kill(partner).data["cancelOrders"] == {"cancelled": 0, "blocked": False}
    said = partner(CANCEL, {"input": {}}, **{"X-Kill-Switch": "yes"})
    assert (said.status, said.code) == (400, "BAD_REQUEST")


def test_without_a_key_nothing_is_stopped(stranger: Ask):
    assert kill(stranger, block=True).status == 401
    assert not OrderBlock.objects.exists()


def test_a_key_has_ten_a_minute_and_its_budget_stays(world: World):
    world.partner.budget_points = world.partner.budget_refill = 1
    world.partner.save()
    ask = Ask(approved_key(world.partner, [Scope.TRADING_WRITE])[1])
    assert once(ask, CANCEL).code == "THROTTLED"
    answers = [kill(ask) for _ in range(11)]
    assert [a.status for a in answers] == [200] * 10 + [429]
    [error] = answers[-1].errors
    assert error["extensions"]["reason"] == "KILL_SWITCH"
    assert int(answers[-1].headers["Retry-After"]) >= 1
    assert answers[0].headers["X-RateLimit-Remaining"] == "9"
    # Each key has its own.
    other = Ask(approved_key(world.partner, [Scope.TRADING_WRITE])[1])
    assert kill(other).status == 200


@COMMITS
def test_it_goes_past_sixteen_senders_that_are_throttled(tmp_path: Path):
    """One process whose budget is spent, and every place of which waits for a book."""
    tokens = [new_market() for _ in range(4)]
    accounts = new_clients(16, new_partner())
    for account in accounts:
        deposit(account, 1_000_000)
    partner = accounts[0].partner
    key = approved_key(partner, list(Scope))[1]
    stopped = Event()
    seen: set[int] = set()

    def post(server: WebServer, document: str, input: Any, **headers: str) -> Any:
        body = orjson.dumps({"query": document, "variables": {"input": input}})
        own = {"X-Token-Auth": key, "Idempotency-Key": str(uuid.uuid4())}
        return server.post(body, **own, **headers)

    brief = UNLIMITED | {
        "PARTNER_API_BUDGET_POINTS": "2000",
        "PARTNER_API_BUDGET_REFILL": "100",
    }
    with serving(1, brief, tmp_path) as server:

        def work(number: int) -> None:
            if number == len(accounts):
                until(lambda: 429 in seen)
                status, told = post(server, CANCEL, {"block": True}, **KILL)
                stopped.set()
                assert status == 200, told
                assert told["data"]["cancelOrders"]["blocked"], told
                return
            order = {
                "accountID": f"Account|{accounts[number].pk}", "side": "BUY",
                "quantity": 1, "limitPrice": 99, "timeInForce": "GTC",
            }  # fmt: skip
            while not stopped.is_set():
                token = tokens[number % len(tokens)].pk
                sent = {"tokenID": f"Token|{token}", "orders": [order] * 10}
                seen.add(post(server, PLACE_EACH, sent)[0])

        assert in_threads(len(accounts) + 1, work) == []
    assert seen == {200, 429}
    assert Order.objects.filter(partner=partner).exists()
    assert not Order.objects.filter(partner=partner, status="OPEN").exists()
    assert value_of(LATER) == 0
    [bystander] = new_clients(1)
    deposit(bystander, 1_000)
    [placed] = place(tokens[0], buy(bystander, 1, 99))
    assert not isinstance(placed, Exception)


@COMMITS
def test_it_waits_for_no_place_and_no_connection(tmp_path: Path):
    """While every thread and connection of the process waits for a table."""
    key = approved_key(new_partner(), list(Scope))[1]
    issuers = b'{"query":"{ issuers(first: 1) { nodes { id } } }"}'
    sent = (
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json"
        b"\r\nContent-Length: %d\r\n\r\n" % len(issuers) + issuers
    )
    headers = {"X-Token-Auth": key, "Idempotency-Key": str(uuid.uuid4())} | KILL
    body = orjson.dumps({"query": BLOCK, "variables": {"input": {}}})
    with serving(1, UNLIMITED, tmp_path) as server, contextlib.ExitStack() as waiting:
        waiting.enter_context(locked("issuers_issuer"))
        for _ in range(30):
            waiting.enter_context(connect(server, sent))
        status, told = server.post(body, **headers)
        assert status == 200, told
        assert told["data"]["blockOrders"]["block"]["byStaff"] is False

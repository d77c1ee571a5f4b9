"""A dry run of an order, and the order itself: one verdict, and the same codes."""

import os
import random
from contextlib import suppress
from typing import Any

import pytest
from django.db import transaction

from accounts.accounts.models import Account
from marketdata.trading import market, phases
from marketdata.trading.errors import MarketClosed
from marketdata.trading.models import Order, Phase
from marketdata.trading.queues import BUY, SELL
from marketdata.trading.round import Request
from tests.api.test_orders import CHECK, PLACE, once
from tests.approved import approved_rule, asker, desk
from tests.characters import Ask, World
from tests.marketdata.trading.trading import deposit, give, new_clients, new_market

CASES = int(os.environ.get("CHECKED_ORDERS", "150"))
IN_FORCE = ("DAY", "GTC", "IOC", "FOK")


@pytest.mark.usefixtures("unlimited_budgets")
def test_the_dry_run_says_what_the_order_does(world: World, partner: Ask):
    chance = random.Random(18)
    token = new_market(tick_cents=2, lot_units=5)
    clients = new_clients(6, world.partner)
    for number, client in enumerate(clients):
        deposit(client, 1_000 * (number + 1))
    give(token, dict.fromkeys(clients[:4], 40))
    clients[5].change_status("SUSPENDED", desk(), None)
    seen = set()
    for number in range(CASES):
        if number == CASES // 3:
            approved_rule(token, "MAX_BALANCE", {"units": 60})
        if number == CASES * 9 // 10:
            phases.change_phase(token.pk, Phase.HALTED, asker(), "why")
        if number % 10 == 0:
            rest(token.pk, clients, chance)
        order: dict[str, Any] = {
            "accountID": f"Account|{chance.choice(clients).pk}",
            "tokenID": f"Token|{token.pk}",
            "side": chance.choice(("BUY", "SELL")),
            "quantity": chance.choice((5, 5, 10, 25, 50, 7)),
            "limitPrice": chance.choice((96, 98, 100, 102, 104, 99, 70)),
            "timeInForce": chance.choice(IN_FORCE),
        }
        checked = partner(CHECK, {"input": order}).data["checkOrder"]
        with transaction.atomic():
            placed = once(partner, PLACE, **order)
            transaction.set_rollback(number % 3 != 0)
        code = placed.code if "errors" in placed.body else None
        assert (checked["code"], checked["allowed"]) == (code, code is None), order
        seen.add(code)
        if code is None:
            done = placed.data["placeOrder"]["order"]
            filled = done["filledQuantity"], done["filledValue"]
            said = checked["wouldFillQuantity"], checked["wouldFillValue"]
            assert said == filled
        else:
            details = placed.errors[0]["extensions"].get("refusals", [])
            assert [r["code"] for r in checked["refusals"]] == [
                r["code"] for r in details
            ]
    assert seen >= {
        None,
        "ACCOUNT_NOT_ACTIVE",
        "INSUFFICIENT_FUNDS",
        "INSUFFICIENT_UNITS",
        "LOT_SIZE",
        "MARKET_CLOSED",
        "PRICE_OUTSIDE_COLLAR",
        "TICK_SIZE",
        "TRANSFER_REFUSED",
    }
    assert Order.objects.exists()


def rest(token_id: Any, clients: list[Account], chance: random.Random) -> None:
    """Some orders that others can meet."""
    requests = [
        Request(
            client.pk,
            side,
            5,
            chance.choice((96, 98) if side == BUY else (102, 104)),
            client.partner.login,
            "GTC",
        )
        for side in (BUY, SELL) * 3
        for client in [chance.choice(clients)]
    ]
    with suppress(MarketClosed):
        market.place_each(token_id, requests)

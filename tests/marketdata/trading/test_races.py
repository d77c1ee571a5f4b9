"""Simultaneous requests for the same units or cash, or to freeze a trading user."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from accounts.accounts.models import Account
from accounts.cash.writer import lock_heads
from accounts.investors import writer as investors
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from marketdata.trading import market
from marketdata.trading.errors import AccountNotActive
from marketdata.trading.models import Execution, Order
from marketdata.trading.verification import INVARIANTS, verify
from partnerapi.core.invariants import check_invariants
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.approved import asker, desk
from tests.marketdata.trading.races import STOPS, Race
from tests.marketdata.trading.trading import (
    buy,
    cash_of,
    codes,
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
from tests.waiting import until_waiting_for_a_lock

AT_ONCE = 8
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("patient_locks", "one_person"),
]


def at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """The results of calls in threads, each with its own connection."""

    def made(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(made, calls))


def broken() -> list[Any]:
    return [finding for finding in check_invariants(INVARIANTS) if finding.breaches]


def test_the_same_units_are_sold_once():
    token, other = new_market(), new_partner()
    [seller] = new_clients(1)
    [again] = new_clients(1, other, [seller.user])
    give(token, {seller: 100})
    said = at_once(
        [
            lambda n=n: codes(place(token, sell([seller, again][n % 2], 10, 100)))
            for n in range(40)
        ]
    )
    assert sorted(sum(said, [])) == ["INSUFFICIENT_UNITS"] * 30 + ["OPEN"] * 10
    assert units(token, seller) == (100, 100)
    assert broken() == []


def test_the_same_cash_is_spent_once_over_all_markets():
    tokens = [new_market(), new_market()]
    sellers = new_clients(2)
    [buyer] = new_clients(1)
    deposit(buyer, 100_000)
    for token, seller in zip(tokens, sellers, strict=True):
        give(token, {seller: 1_000})
        place(token, sell(seller, 1_000, 100))
    said = at_once(
        [
            lambda n=n: codes(place(tokens[n % 2], buy(buyer, 100, 100)))
            for n in range(40)
        ]
    )
    assert sorted(sum(said, [])) == ["FILLED"] * 10 + ["INSUFFICIENT_FUNDS"] * 30
    assert purse(buyer) == (0, 0)
    assert broken() == []


def test_an_order_of_one_client_id_is_taken_once_over_all_markets():
    tokens = [new_market(), new_market()]
    [buyer] = new_clients(1)
    deposit(buyer, 100_000)
    one = buy(buyer, 1, 100, client_order_id="once")
    said = at_once([lambda n=n: codes(place(tokens[n % 2], one)) for n in range(16)])
    assert sorted(sum(said, [])) == ["DUPLICATE_CLIENT_ORDER_ID"] * 15 + ["OPEN"]


def test_nobody_trades_after_a_freeze_a_suspension_or_a_rule():
    race = Race()
    race.run(6)
    assert race.traded() == race.left_open == dict.fromkeys(STOPS, 0)
    assert any(race.ended().values())
    assert [found for found in verify() if found.breaches] == []


@pytest.mark.parametrize("how", ["kill switch", "freeze"])
def test_ending_orders_of_several_markets_locks_cash_in_one_order(how: str):
    """Otherwise a request for both accounts, on a third market, would deadlock."""
    tokens = sorted([new_market(), new_market()], key=lambda token: token.pk)
    partner = new_partner()
    [first] = new_clients(1, partner)
    [second] = new_clients(1, new_partner(), [first.user])
    for account in (first, second):
        deposit(account, 1_000)
    [low, high] = sorted([first, second], key=cash_of)
    # The market that comes first holds the cash that comes last.
    for token, account in zip(tokens, (high, low), strict=True):
        assert codes(place(token, buy(account, 1, 100))) == ["OPEN"]

    def end() -> None:
        if how == "freeze":
            restrictions.restrict(first.user, Terms("FREEZE", "why"), asker())
        else:
            market.cancel_all(Order.objects.all(), "BY_STAFF", asker())

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_heads([cash_of(low)])
            ended = pool.submit(at_once, [end])
            until_waiting_for_a_lock()
            lock_heads([cash_of(high)])
        ended.result()
    assert not Order.objects.filter(status="OPEN").exists()


class Meeting:
    """A market with a buyer, and a seller whose 5 units rest at 100."""

    def __init__(self) -> None:
        self.token = new_market()
        self.buyer, self.seller = new_clients(2)
        deposit(self.buyer, 10_000)
        give(self.token, {self.seller: 5})
        assert codes(place(self.token, sell(self.seller, 5, 100))) == ["OPEN"]

    def traded_while(self, waits: Callable[[], Any]) -> Execution:
        """What the buyer trades while something waits for the buyer's last order."""
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                order = buy(self.buyer, 1, 99, time_in_force="IOC")
                assert codes(place(self.token, order)) == ["CANCELLED"]
                waited = pool.submit(at_once, [waits])
                until_waiting_for_a_lock()
                assert codes(place(self.token, buy(self.buyer, 5, 100))) == ["FILLED"]
            waited.result()
        return Execution.objects.get(token=self.token)


def move(account: Account, status: str) -> None:
    account.change_status(status, desk(), None)


def test_an_account_is_suspended_after_what_it_traded_meanwhile():
    meeting = Meeting()
    traded = meeting.traded_while(lambda: move(meeting.buyer, "SUSPENDED"))
    assert meeting.buyer.history.get(status="SUSPENDED").created_at > traded.at


def test_an_investor_s_profile_changes_after_what_was_traded_meanwhile():
    meeting, user = Meeting(), colleague(ASKER)
    facts = investors.Facts("REFUSED", None, None, "RETAIL")
    traded = meeting.traded_while(
        lambda: investors.decide(meeting.buyer.user, facts, user.email or "")
    )
    profile = investors.profile_of(meeting.buyer.user)
    assert profile.updated_at > traded.at


def test_an_order_that_waited_for_its_account_to_be_active_came_before():
    """It would be dated inside the suspension."""
    meeting = Meeting()
    move(meeting.buyer, "SUSPENDED")
    order = buy(meeting.buyer, 5, 100)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            [_] = Account.objects.raw(
                "SELECT * FROM accounts_lock(%s)", [meeting.buyer.pk]
            )
            placed = pool.submit(at_once, [lambda: place(meeting.token, order)])
            until_waiting_for_a_lock()
            move(meeting.buyer, "ACTIVE")
        [[refusal]] = placed.result()
    assert isinstance(refusal, AccountNotActive)
    assert refusal.details == {"status": "SUSPENDED"}
    assert codes(place(meeting.token, order)) == ["FILLED"]

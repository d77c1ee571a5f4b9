"""Which open orders end when someone may not trade any more, and why."""

import pytest

from accounts.accounts.models import Account
from accounts.investors import writer as investors
from accounts.people.models import Country
from issuers.compliance import restrictions
from issuers.compliance.restrictions import Terms
from issuers.models import Token
from marketdata.trading.models import Order
from tests.approved import approved_rule, asker, desk
from tests.marketdata.trading.trading import (
    as_committed,
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    placed,
    sell,
)

LOCKED = "UNITS_LOCKED"
pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> Token:
    return new_market()


def told(*orders: Order) -> list[str | None]:
    """Why each order ended; None: it rests."""
    as_committed()
    reasons = []
    for order in orders:
        order.refresh_from_db()
        reasons.append(order.status_reason)
    return reasons


def attest(account: Account, verification: str = "VERIFIED") -> None:
    """What counts at once: the account's partner may."""
    account.partner.may_attest = True
    account.partner.save()
    country = Country.objects.get(code="FR")
    investors.attest(account, investors.Facts(verification, None, country, "RETAIL"))


@pytest.mark.parametrize(
    "rule", [("MAX_BALANCE", {"units": 100}), ("MAX_HOLDERS", {"holders": 1})]
)
@pytest.mark.parametrize("change", ["suspension", "attestation", "lock"])
def test_what_ends_an_order_is_what_the_reason_names(
    rule: tuple[str, dict[str, int]], change: str, token: Token
):
    """Two partners' orders of one user, which a rule would refuse by now."""
    [mine, other] = new_clients(2)
    [theirs] = new_clients(1, new_partner(), [mine.user])
    for account in (mine, theirs):
        deposit(account, 10_000)
    orders = [placed(token, buy(account, 60, 99)) for account in (mine, theirs)]
    approved_rule(token, *rule)
    as_committed()
    give(token, {mine if rule[0] == "MAX_BALANCE" else other: 60})
    if change == "suspension":
        theirs.change_status("SUSPENDED", desk(), "They asked")
        assert told(*orders) == [None, "ACCOUNT_NOT_ACTIVE"]
        return
    if change == "attestation":
        attest(theirs)
    else:
        lock(mine, token, 1)
    assert told(*orders) == [None, None]


def test_an_investor_who_is_refused_ends_buying_at_every_partner(token: Token):
    [mine] = new_clients(1)
    [theirs] = new_clients(1, new_partner(), [mine.user])
    give(token, {mine: 10})
    attest(theirs)
    approved_rule(token, "VERIFIED_HOLDERS", {})
    for account in (mine, theirs):
        deposit(account, 10_000)
    buying = [placed(token, buy(account, 1, 99)) for account in (mine, theirs)]
    selling = placed(token, sell(mine, 10, 101))
    attest(theirs, "REFUSED")
    assert told(*buying, selling) == ["NOT_ELIGIBLE", "NOT_ELIGIBLE", None]


def test_a_freeze_ends_both_sides(token: Token):
    [holder, other] = new_clients(2)
    give(token, {holder: 10, other: 10})
    deposit(holder, 10_000)
    orders = [placed(token, buy(holder, 1, 99)), placed(token, sell(holder, 1, 101))]
    kept = placed(token, sell(other, 1, 101))
    restrictions.restrict(holder.user, Terms("FREEZE", "a court"), asker())
    assert told(*orders, kept) == ["HOLDER_FROZEN", "HOLDER_FROZEN", None]


def test_a_rule_ends_what_it_refuses(token: Token):
    [holder] = new_clients(1)
    give(token, {holder: 60})
    deposit(holder, 10_000)
    orders = [placed(token, buy(holder, units, 99)) for units in (40, 41)]
    orders.append(placed(token, sell(holder, 60, 101)))
    approved_rule(token, "MAX_BALANCE", {"units": 100})
    assert told(*orders) == [None, "RULE_CHANGED", None]


@pytest.mark.parametrize(
    ("quantities", "free", "left"),
    [
        ([30, 10], 40, [None, None]),
        ([30, 10], 30, [None, LOCKED]),
        # The remaining units cover only the oldest order.
        ([30, 10], 15, [LOCKED, LOCKED]),
        ([10, 30], 15, [None, LOCKED]),
        ([10, 10, 10, 10], 25, [None, None, LOCKED, LOCKED]),
        ([5, 30, 5], 20, [None, LOCKED, LOCKED]),
        ([30, 10], 0, [LOCKED, LOCKED]),
    ],
)
def test_units_that_are_locked_end_the_newest_orders(
    quantities: list[int], free: int, left: list[str | None], token: Token
):
    """Of a user's sell orders at two partners; what it buys stays."""
    [mine] = new_clients(1)
    [theirs] = new_clients(1, new_partner(), [mine.user])
    give(token, {mine: 45})
    deposit(mine, 10_000)
    orders = [
        placed(token, sell((mine, theirs)[n % 2], units, 101))
        for n, units in enumerate(quantities)
    ]
    buying = placed(token, buy(mine, 1, 99))
    lock(mine, token, 45 - free)
    assert told(*orders) == left
    assert told(buying) == [None]


def lock(holder: Account, token: Token, units: int) -> None:
    restrictions.restrict(
        holder.user, Terms("FREEZE", "a court", token, units), asker()
    )

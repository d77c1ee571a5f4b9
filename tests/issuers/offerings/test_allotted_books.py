"""Random books through the database: allotted as by brute force, and settled so.

The register judges each entry of a settlement by the rules of the token, so it must
accept what the allotment gives.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.accounts.models import Account
from issuers.models import Token
from issuers.offerings import deciding
from issuers.offerings.allotment import Bid, Bounds
from issuers.offerings.deciding import OfferingRefused
from issuers.offerings.models import Offering, Subscription
from issuers.offerings.verification import INVARIANTS
from issuers.register.models import TokenLedgerHead
from partnerapi.core.invariants import check_invariants
from tests.accounts.money import deposit, head_of
from tests.approved import approved_rule
from tests.issuers.offerings import brute_force
from tests.issuers.offerings.offerings import (
    allot,
    close,
    new_token,
    opened,
    settle,
    step,
    subscribe,
)
from tests.marketdata.trading.trading import give, new_clients, new_partner
from tests.owner import as_committed
from tests.tiers import count

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_person")]
RULES = ("FIRST_COME", "PRO_RATA", "BOOK")
CENTS = 100_000_000


@pytest.fixture
def accounts() -> list[Account]:
    """Of five users, two of whom have accounts at two partners."""
    found = new_clients(5)
    users = [account.user for account in found[:2]]
    found += new_clients(2, new_partner(), users)
    for account in found:
        deposit(account, CENTS)
    return found


def random_rules(chance: random.Random, holders: int) -> Iterator[tuple[str, Any]]:
    if chance.random() < 0.6:
        yield "MAX_HOLDERS", {"holders": max(1, holders + chance.randint(0, 2))}
    if chance.random() < 0.6:
        yield (
            "MAX_BALANCE",
            chance.choice(({"units": chance.randint(3, 9)}, {"bps": 1_000})),
        )


def sold(
    chance: random.Random, accounts: list[Account]
) -> tuple[Offering, dict[str, dict[str, int]]]:
    """An offering that has closed, with the rules that its token got since."""
    source, rule = chance.choice(("TREASURY", "MINT")), chance.choice(RULES)
    offered = chance.randint(1, 50)
    token = new_token(treasury=chance.randint(offered, 80))
    held = {account: chance.randint(1, 6) for account in accounts[:2]}
    give(token, dict(list(held.items())[: chance.randint(0, 2)]))
    prices: dict[str, int | None] = {"price": 5}
    if rule == "BOOK":
        prices = {"price": None, "floor": 5, "cap": 8}
    offering = opened(
        token, rule=rule, source=source, maximum=offered, minimum=1, **prices
    )
    for account in chance.sample(accounts, chance.randint(1, len(accounts))):
        limit = chance.randint(5, 8) if rule == "BOOK" else 5
        subscribe(offering, account, min(offered, chance.randint(1, 12)), limit)
    close(offering)
    holders = TokenLedgerHead.objects.get(token=token).holder_count
    rules = dict(random_rules(chance, holders))
    for kind, parameters in rules.items():
        approved_rule(token, kind, parameters)
    return offering, rules


def balances(token: Token) -> dict[int, int]:
    rows = token.balances.filter(account__holder__isnull=False, balance__gt=0)
    return {row.account_id: int(row.balance) for row in rows}


def bounds_of(offering: Offering, rules: dict[str, dict[str, int]]) -> Bounds:
    most = rules.get("MAX_BALANCE", {})
    have = balances(offering.token)
    return Bounds(
        most_holders=rules.get("MAX_HOLDERS", {}).get("holders"),
        most_units=most.get("units"),
        most_bps=most.get("bps"),
        holders=len(have),
        supply=int(TokenLedgerHead.objects.get(token=offering.token).supply),
        is_made=offering.source == "MINT",
        balances=have,
    )


def test_random_books_settle_as_brute_force_allots_them(accounts: list[Account]):
    chance = random.Random("books of offerings")  # noqa: S311
    settled, refusals = 0, set()
    for _ in range(count(5, 60)):
        offering, rules = sold(chance, accounts)
        rows = [*offering.subscriptions.order_by("ranked_at", "id")]
        bids = [Bid(r.pk, r.ledger_account_id, r.quantity, r.limit_price) for r in rows]
        price = offering.price or brute_force.best_price(offering.maximum_units, bids)
        assert price is not None
        bounds = bounds_of(offering, rules)
        expected = brute_force.allotted(
            offering.rule, offering.maximum_units, bids, price, bounds
        )
        if offering.rule == "BOOK":
            step(offering, deciding.PRICE, price=price)
        if not any(expected.values()):
            with pytest.raises(OfferingRefused):
                allot(offering)
            step(offering, deciding.FAILED, reason="Too few")
            continue
        allot(offering)
        found = Subscription.objects.filter(offering=offering)
        units = dict(found.values_list("pk", "allotted"))
        assert {id: units[id] for id in expected} == expected
        assert sum(units.values()) == sum(expected.values())
        cash = {account.pk: head_of(account)[0] for account in accounts}
        settle(offering)
        for row in rows:
            cash[row.account_id] -= units[row.pk] * price
        assert {a.pk: head_of(a) for a in accounts} == {
            id: (cents, 0) for id, cents in cash.items()
        }
        have = dict(bounds.balances)
        for bid in bids:
            have[bid.holder] = have.get(bid.holder, 0) + units[bid.id]
        held = {holder: units for holder, units in have.items() if units}
        assert balances(offering.token) == held
        refusals |= {*found.values_list("refusal", flat=True)}
        settled += 1
    assert settled
    as_committed()
    findings = check_invariants(INVARIANTS)
    assert [finding.rule for finding in findings if finding.breaches] == []

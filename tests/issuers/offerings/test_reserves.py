"""Random actions against a dictionary: what each account's cash reserves."""

import random
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from accounts.accounts.models import Account
from accounts.cash.models import Withdrawal
from accounts.cash.withdrawals import refuse, request_withdrawal
from issuers.offerings import deciding, subscriptions
from issuers.offerings.deciding import OfferingRefused
from issuers.offerings.models import Offering, Subscription
from issuers.offerings.verification import INVARIANTS
from marketdata.trading import market
from marketdata.trading.verification import INVARIANTS as OF_MARKETS
from partnerapi.core.database import execute, rows_of
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.invariants import check_invariants
from tests.accounts.money import deposit, head_of
from tests.approved import asker
from tests.issuers.offerings.offerings import (
    allot,
    close,
    new_token,
    opened,
    settle,
    step,
    subscribe,
)
from tests.marketdata.trading.trading import buy, new_clients, new_market, place
from tests.owner import as_committed
from tests.tiers import count
from tests.waiting import until_waiting_for_a_lock

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("one_person"),
]
ACCOUNTS = 6
RESERVED = """
    SELECT c.account_id, h.reserved FROM accounts_cashaccount c
    JOIN accounts_cashhead h ON h.cash_account_id = c.id WHERE c.account_id = ANY (%s)
"""
AT_ONCE = 20
"""Actions of a commit: versions of rows that no commit ends are read by all later."""


class Model:
    """Clients, and by account and object what is reserved, euro cents."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.accounts = new_clients(ACCOUNTS)
        self.reserved: dict[UUID, dict[Any, int]] = defaultdict(dict)
        self.market = new_market(100)
        self.token = new_token(treasury=10_000_000)
        self.offering = self.next_offering()
        for account in self.accounts:
            deposit(account, 1_000_000)

    def next_offering(self) -> Offering:
        rule = self.chance.choice(("FIRST_COME", "PRO_RATA", "BOOK"))
        prices: dict[str, int | None] = {"price": 500}
        if rule == "BOOK":
            prices = {"price": None, "floor": 300, "cap": 700}
        maximum = self.chance.choice((50, 200))
        return opened(self.token, rule=rule, maximum=maximum, minimum=20, **prices)

    def account(self) -> Account:
        return self.chance.choice(self.accounts)

    def subscribe(self) -> None:
        account, units = self.account(), self.chance.randint(1, 60)
        limit = self.chance.choice((300, 500, 700, 701))
        made = subscribe(self.offering, account, units, limit)
        self.reserved[account.pk][made.pk] = units * limit

    def amend(self) -> None:
        if made := self.active():
            units = self.chance.randint(1, 60)
            amended = subscriptions.amend(
                made, made.version, units, None, made.account.partner.login
            )
            self.reserved[made.account_id][made.pk] = units * amended.limit_price

    def leave(self) -> None:
        if made := self.active():
            subscriptions.withdraw(made, made.account.partner.login)
            del self.reserved[made.account_id][made.pk]

    def active(self) -> Subscription | None:
        found = Subscription.objects.filter(offering=self.offering, status="ACTIVE")
        rows = [*found.select_related("account__partner").order_by("id")]
        return self.chance.choice(rows) if rows else None

    def order(self) -> None:
        account, units = self.account(), self.chance.randint(1, 50)
        [placed] = place(self.market, buy(account, units, 90))
        self.reserved[account.pk][placed.order.pk] = 90 * units

    def cancel(self) -> None:
        account = self.account()
        ids = [*account.orders.filter(status="OPEN").values_list("pk", flat=True)[:3]]
        market.cancel_each(self.market.pk, ids, "BY_PARTNER", account.partner.login)
        for id in ids:
            del self.reserved[account.pk][id]

    def request(self) -> None:
        account, cents = self.account(), self.chance.randint(1, 500)
        reference = f"r{self.chance.getrandbits(60)}"
        made = request_withdrawal(account, cents, reference, account.partner.login)
        self.reserved[account.pk][made.pk] = cents

    def refuse(self) -> None:
        open_ones = Withdrawal.objects.filter(status="REQUESTED").order_by("id")
        if made := open_ones.first():
            refuse(made, "Not now", asker())
            account = made.cash_account.account_id
            del self.reserved[account][made.pk]

    def end(self) -> None:
        """The offering is withdrawn, fails, or is allotted and settled."""
        if self.chance.random() < 0.3:
            step(self.offering, deciding.WITHDRAWN, reason="Over")
        elif close(self.offering).status == "CLOSED":
            if self.offering.rule == "BOOK":
                step(self.offering, deciding.PRICE, price=500)
            try:
                allot(self.offering)
            except OfferingRefused:
                step(self.offering, deciding.FAILED, reason="Too few")
            else:
                settle(self.offering)
        ended = Subscription.objects.filter(offering=self.offering)
        for account, id in ended.values_list("account", "pk"):
            self.reserved[account].pop(id, None)
        self.offering = self.next_offering()

    def compare(self) -> None:
        found = dict(rows_of(RESERVED, [[a.pk for a in self.accounts]]))
        expected = {a.pk: sum(self.reserved[a.pk].values()) for a in self.accounts}
        assert found == expected


def test_reserved_cash_is_that_of_orders_withdrawals_and_subscriptions():
    model = Model(random.Random("reserves"))  # noqa: S311
    actions: list[tuple[Callable[[], None], int]] = [
        (model.subscribe, 30), (model.amend, 15), (model.leave, 10), (model.order, 15),
        (model.cancel, 8), (model.request, 8), (model.refuse, 8), (model.end, 1),
    ]  # fmt: skip
    works, weights = zip(*actions, strict=True)
    refused = 0
    for _ in range(count(200, 10_000) // AT_ONCE):
        with transaction.atomic():
            for act in model.chance.choices(works, weights, k=AT_ONCE):
                try:
                    act()
                except PartnerAPIError:
                    refused += 1
                model.compare()
    assert refused
    as_committed()
    findings = check_invariants(INVARIANTS + OF_MARKETS)
    assert [finding.rule for finding in findings if finding.breaches] == []


@pytest.mark.usefixtures("patient_locks", "one_person")
def test_amendments_at_once_reserve_what_the_last_one_says():
    """Also of a caller that does not lock before it amends."""
    offering = opened()
    [account] = new_clients(1)
    deposit(account, 1_000_000)
    made = subscribe(offering, account, 10)
    login = account.partner.login

    def amend(version: int, units: int) -> None:
        with transaction.atomic():
            execute(BLIND_AMENDMENT, [login, made.pk, version, units, 1_000])

    def amends_after() -> None:
        try:
            amend(2, 30)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            amend(1, 20)
            waits = pool.submit(amends_after)
            until_waiting_for_a_lock()
        waits.result()
    assert head_of(account) == (1_000_000, 30_000)


BLIND_AMENDMENT = "SELECT offerings_amend(%s, %s, %s, %s, %s, clock_timestamp())"

"""A market as dictionaries, and the real one: random actions lead to the same.

    python -m tests.marketdata.trading.model --runs 300 --steps 40
    python -m tests.marketdata.trading.model --runs 0 --trades 10000

It makes an installation of its own, takes each action in both and compares every order,
every balance and what is reserved after each; then the statements of `verify market`,
and at the end of a run the replay. It ends with the seed and the action that lead to a
difference, if there is one.
"""

import argparse
import random
import sys
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any

BUY, SELL = 0, 1
CLOSED_TO = {"CLOSED", "HALTED"}
Rates = tuple[int, int, int, int | None, int]
"""Basis points of makers and takers, cents at least and at most, VAT's basis points."""


def rounded(number: Fraction) -> int:
    return floor(number + Fraction(1, 2))


@dataclass
class Sheet:
    """The fees of an order: each fill's value with its rate, and what was paid."""

    rates: Rates | None
    fills: list[tuple[int, int]] = field(default_factory=list)
    paid: int = 0

    def total(self, rest: int = 0) -> int:
        """With tax, if a rest of this value trades at the higher rate."""
        if self.rates is None:
            return 0
        maker, taker, least, most, vat = self.rates
        fills = [*self.fills, (rest, max(maker, taker))] if rest else self.fills
        if not fills:
            return 0
        exact = sum(Fraction(value * rate, 10_000) for value, rate in fills)
        net = max(least, rounded(exact))
        net = net if most is None else min(most, net)
        return net + rounded(Fraction(net * vat, 10_000))

    def fill(self, value: int, takes: bool, side: int) -> int:
        """What it pays: of a sell, never more than this fill's value."""
        if self.rates is None:
            return 0
        self.fills.append((value, self.rates[takes]))
        due = self.total() - self.paid
        due = min(due, value) if side == SELL else due
        self.paid += due
        return due

    def bust(self, value: int, takes: bool, side: int) -> int:
        """What comes back."""
        if self.rates is None:
            return 0
        self.fills.remove((value, self.rates[takes]))
        stays = min(self.paid, self.total())
        if side == SELL:
            stays = min(stays, sum(value for value, _ in self.fills))
        back, self.paid = self.paid - stays, stays
        return back


@dataclass
class Trade:
    """The numbers of its orders, buyer first; `taker` is the side that came."""

    orders: tuple[int, int]
    accounts: tuple[int, int]
    units: int
    value: int
    taker: int
    is_busted: bool = False


@dataclass
class Terms:
    """What orders are judged by; `table` has prices and the tick from each on."""

    table: list[tuple[int, int]] = field(default_factory=lambda: [(0, 1)])
    lot: int = 1
    band: int = 2_000
    most_value: int | None = None
    most_units: int | None = None

    def is_off(self, price: int, left: int, reference: int) -> str | None:
        """The code of the first rule that a limit and open units break."""
        tick = [step for floor, step in self.table if floor <= price][-1]
        if price % tick:
            return "TICK_SIZE"
        if left % self.lot:
            return "LOT_SIZE"
        if abs(price - reference) > reference * self.band // 10_000:
            return "PRICE_OUTSIDE_COLLAR"
        return None

    def refuses(self, price: int, left: int, filled: int, reference: int) -> str | None:
        units = left + filled
        if self.most_value is not None and units * price > self.most_value:
            return "ORDER_VALUE_TOO_LARGE"
        if self.most_units is not None and units > self.most_units:
            return "ORDER_VALUE_TOO_LARGE"
        return self.is_off(price, left, reference)


@dataclass
class Open:
    account: int
    side: int
    price: int
    left: int
    came: int
    is_over: bool = False


class Model:
    """The rules of a market, without queues, tables or locks."""

    def __init__(self, users: list[int]) -> None:
        self.users = users  # By account.
        self.cash = dict.fromkeys(range(len(users)), 0)
        self.units = dict.fromkeys(users, 0)
        self.orders: dict[int, Open] = {}
        self.frozen: set[int] = set()
        self.suspended: set[int] = set()
        self.most: int | None = None
        self.phase, self.clock = "CONTINUOUS", 0
        self.tariffs: dict[int | None, Rates] = {}  # By partner; None: the market's.
        self.sheets: dict[int, Sheet] = {}
        self.trades: list[Trade] = []
        self.fees = 0
        self.filled: Counter[int] = Counter()
        self.terms, self.following = Terms(), Terms()
        self.reference = 100

    def held_cash(self, account: int) -> int:
        return sum(
            self.cost(number, o.left * o.price)
            for number, o in self.orders.items()
            if (o.account, o.side) == (account, BUY)
        )

    def cost(self, number: int, value: int) -> int:
        """What a buy may still pay, if so much of it is open."""
        sheet = self.sheets[number]
        return value + sheet.total(value) - sheet.paid

    def held_units(self, user: int) -> int:
        own = (o for o in self.orders.values() if o.side == SELL)
        return sum(o.left for o in own if self.users[o.account] == user)

    def forbids(self, side: int, user: int, units: int) -> bool:
        too_many = self.most is not None and self.units[user] + units > self.most
        return user in self.frozen or side == BUY and too_many

    def refusal(
        self, number: int, account: int, side: int, units: int, price: int
    ) -> str | None:
        user = self.users[account]
        broken = self.terms.refuses(price, units, self.filled[number], self.reference)
        if broken:
            return broken
        if account in self.suspended:
            return "ACCOUNT_NOT_ACTIVE"
        if self.forbids(side, user, units):
            return "TRANSFER_REFUSED"
        free = self.cash[account] - self.held_cash(account)
        if side == BUY and free < self.cost(number, units * price):
            return "INSUFFICIENT_FUNDS"
        if side == SELL and self.units[user] - self.held_units(user) < units:
            return "INSUFFICIENT_UNITS"
        return None

    def place(
        self, number: int, account: int, side: int, units: int, price: int, tif: str
    ) -> str:
        own = self.tariffs.get(PARTNERS[account], self.tariffs.get(None))
        self.sheets[number] = Sheet(own)
        return self.refusal(number, account, side, units, price) or self.meet(
            number, account, side, units, price, tif
        )

    def meet(
        self, number: int, account: int, side: int, units: int, price: int, tif: str
    ) -> str:
        before = deepcopy(
            (
                self.cash, self.units, self.orders, self.filled, self.sheets,
                self.trades, self.fees,
            )
        )  # fmt: skip
        self.clock += 1
        sign, came, user = 1 - 2 * side, self.clock, self.users[account]
        others = [
            (sign * o.price, o.came, n)
            for n, o in self.orders.items()
            if o.side != side and not o.is_over and sign * o.price <= sign * price
        ]
        for _, _, maker_number in sorted(others):
            maker = self.orders[maker_number]
            other = self.users[maker.account]
            if not units:
                break
            if other == user:
                tif = "IOC" if tif == "GTC" else tif
                break
            moved = min(units, maker.left)
            if self.forbids(maker.side, other, moved):
                del self.orders[maker_number]
                continue
            buyer, seller = (
                (account, maker.account) if side == BUY else (maker.account, account)
            )
            value = moved * maker.price
            self.cash[buyer] -= value
            self.cash[seller] += value
            for one, of, taker in ((maker_number, maker, False), (number, None, True)):
                fee = self.sheets[one].fill(value, taker, of.side if of else side)
                self.cash[of.account if of else account] -= fee
                self.fees += fee
            sides = (number, maker_number) if side == BUY else (maker_number, number)
            self.trades.append(Trade(sides, (buyer, seller), moved, value, side))
            self.units[self.users[buyer]] += moved
            self.units[self.users[seller]] -= moved
            self.filled.update({number: moved, maker_number: moved})
            maker.left -= moved
            units -= moved
            if not maker.left:
                del self.orders[maker_number]
        if units and tif == "FOK":
            self.cash, self.units, self.orders, self.filled = before[:4]
            self.sheets, self.trades, self.fees = before[4:]
            return "CANCELLED"
        if units and tif == "GTC":
            self.orders[number] = Open(account, side, price, units, came)
            return "OPEN"
        return "CANCELLED" if units else "FILLED"

    def amend(self, number: int, left: int, price: int) -> str:
        order = self.orders.pop(number)
        refusal = self.refusal(number, order.account, order.side, left, price)
        if refusal:
            self.orders[number] = order
            return refusal
        if price == order.price and left <= order.left:
            order.left = left
            self.orders[number] = order
            return "OPEN"
        return self.meet(number, order.account, order.side, left, price, "GTC")

    def end_forbidden(self, of: int | None = None) -> None:
        """End orders that would be refused now: of a user, or of all."""
        for number, order in list(self.orders.items()):
            user = self.users[order.account]
            if of not in (None, user):
                continue
            if self.forbids(order.side, user, order.left):
                del self.orders[number]

    def open(self, otherwise: int) -> None:
        """Refer to the last trade that stands; after new terms, end what is off."""
        standing = [t.value // t.units for t in self.trades if not t.is_busted]
        self.reference = standing[-1] if standing else otherwise
        self.phase = "CONTINUOUS"

    def reopen(self, otherwise: int) -> None:
        self.open(otherwise)
        if self.terms is self.following:
            return
        self.terms = self.following
        for number, order in list(self.orders.items()):
            if self.terms.is_off(order.price, order.left, self.reference):
                del self.orders[number]

    def may_bust(self, trade: Trade) -> bool:
        """Whether the seller has the cash, and the buyer the units, unreserved."""
        buyer, seller = trade.accounts
        sheet = deepcopy(self.sheets[trade.orders[SELL]])
        back = sheet.bust(trade.value, trade.taker == SELL, SELL)
        free = self.cash[seller] - self.held_cash(seller)
        user = self.users[buyer]
        has_units = self.units[user] - self.held_units(user) >= trade.units
        return free >= trade.value - back and has_units

    def bust(self, trade: Trade) -> None:
        for side, sign in ((BUY, 1), (SELL, -1)):
            account, sheet = trade.accounts[side], self.sheets[trade.orders[side]]
            back = sheet.bust(trade.value, trade.taker == side, side)
            self.fees -= back
            self.cash[account] += sign * trade.value + back
            self.units[self.users[account]] -= sign * trade.units
        trade.is_busted = True

    def suspend(self, account: int) -> None:
        """Orders of the user's other accounts stay, even if a rule now forbids them."""
        self.suspended.add(account)
        own = (n for n, o in self.orders.items() if o.account == account)
        for number in list(own):
            del self.orders[number]


USERS = [0, 0, 1, 2, 3]
"""The user of each account: the first two are one user's, at two partners."""
PARTNERS = [0, 1, 0, 0, 0]
WEIGHTS = {
    "place": 8, "several": 4, "amend": 3, "cancel": 2, "freeze": 1, "suspend": 1,
    "rule": 1, "halt": 1, "expire": 1, "deposit": 2, "tariff": 2, "bust": 2,
    "parameters": 1, "reopen": 2,
}  # fmt: skip


BUSY = {
    "place": 1, "several": 8, "amend": 4, "cancel": 1, "deposit": 1, "tariff": 2,
    "bust": 2, "parameters": 1, "reopen": 1,
}  # fmt: skip
"""Of clients with enough cash and units, so that most orders trade."""


class Both:
    """A market and its model, which receive the same actions."""

    def __init__(self, seed: int, is_busy: bool) -> None:
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )

        self.random = random.Random(seed)
        self.token = new_market()
        partner, other = self.partners = new_partner(), new_partner()
        first, *rest = new_clients(4, partner)
        [second] = new_clients(1, other, [first.user])
        self.accounts = [first, second, *rest]
        self.model = Model(USERS)
        self.restrictions: dict[int, Any] = {}
        self.ids: dict[int, Any] = {}
        self.number = 0
        for number, account in enumerate(self.accounts):
            cents = 50_000 if is_busy else 2_000
            deposit(account, cents)
            self.model.cash[number] += cents
        times = 20 if is_busy else 1
        give(self.token, {first: 30 * times, rest[0]: 30 * times, rest[1]: 10 * times})
        self.model.units |= {0: 30 * times, 1: 30 * times, 2: 10 * times}
        self.weights = BUSY if is_busy else WEIGHTS
        self.most_orders = 20 if is_busy else 6

    def step(self) -> str:
        action = self.random.choices([*self.weights], [*self.weights.values()])[0]
        return f"{action}: {getattr(self, action)()}"

    def some_order(self) -> dict[str, Any]:
        side, price = self.random.choice([BUY, SELL]), self.random.randint(97, 103)
        if self.random.random() < 0.1:
            # Far away: in the wider of the bands alone.
            price = 70 if side == BUY else 130
        return {
            "account": self.random.randrange(len(USERS)),
            "side": side,
            "units": self.random.randint(1, 12),
            "price": price,
            "tif": self.random.choice(["GTC", "GTC", "GTC", "IOC", "FOK"]),
        }

    def place(self) -> str:
        return self.send([self.some_order()])

    def several(self) -> str:
        count = self.random.randint(2, self.most_orders)
        return self.send([self.some_order() for _ in range(count)])

    def send(self, orders: list[dict[str, Any]]) -> str:
        from marketdata.trading.errors import MarketClosed
        from marketdata.trading.market import Placed, Request, place_each

        requests = [
            Request(
                account.pk, o["side"], o["units"], o["price"], account.partner.login,
                o["tif"],
            )
            for o in orders
            for account in [self.accounts[o["account"]]]
        ]  # fmt: skip
        try:
            results = place_each(self.token.pk, requests)
        except MarketClosed:
            assert self.model.phase in CLOSED_TO
            return "closed"
        assert self.model.phase == "CONTINUOUS"
        statuses = []
        for order, result in zip(orders, results, strict=True):
            self.number += 1
            said = self.model.place(self.number, **order)
            if isinstance(result, Placed):
                self.ids[self.number] = result.order.pk
                # A later order of the list may have filled it.
                statuses.append((said, result.order.status))
            else:
                assert result.code == said, (order, result, said)
        for said, status in statuses:
            assert said == status or (said, status) == ("OPEN", "FILLED"), (
                said,
                status,
            )
        return f"{orders} {statuses}"

    def some_open(self) -> int | None:
        return self.random.choice([*self.model.orders] or [None])

    def amend(self) -> str:
        from marketdata.trading import market
        from marketdata.trading.models import Order
        from partnerapi.core.errors import PartnerAPIError

        number = self.some_open()
        if number is None or self.model.phase != "CONTINUOUS":
            return "nothing"
        left, price = self.random.randint(1, 12), self.random.randint(97, 103)
        row = Order.objects.get(pk=self.ids[number])
        try:
            amended = market.amend(
                row.pk, row.version, row.partner.login, row.filled + left, price
            )
            found = amended.order.status
        except PartnerAPIError as refusal:
            found = refusal.code
        said = self.model.amend(number, left, price)
        assert said == found, (number, left, price, said, found)
        return f"{number} to {left} at {price}: {said}"

    def cancel(self) -> str:
        from marketdata.trading.market import cancel_each
        from marketdata.trading.models import Order

        numbers = [
            n for n in self.model.orders if self.random.random() < 0.3
        ]  # In any phase.
        ids = [self.ids[n] for n in numbers]
        ended = []
        for account in self.accounts:
            own = Order.objects.filter(pk__in=ids, account=account)
            ended += cancel_each(
                self.token.pk,
                [*own.values_list("pk", flat=True)],
                "BY_PARTNER",
                account.partner.login,
            )
        assert len(ended) == len(ids)
        for number in numbers:
            del self.model.orders[number]
        return str(numbers)

    def freeze(self) -> str:
        from issuers.compliance import restrictions
        from issuers.compliance.restrictions import Terms
        from tests.approved import asker

        account = self.random.randrange(1, len(USERS))
        user = USERS[account]
        if user in self.restrictions:
            restrictions.end(self.restrictions.pop(user), asker())
            self.model.frozen.discard(user)
            return f"{user} is free"
        self.restrictions[user] = restrictions.restrict(
            self.accounts[account].user, Terms("FREEZE", "why", self.token), asker()
        )
        self.model.frozen.add(user)
        self.model.end_forbidden(user)
        return str(user)

    def suspend(self) -> str:
        from tests.approved import desk

        number = self.random.randrange(len(USERS))
        staff = desk()
        if number in self.model.suspended:
            self.accounts[number].change_status("ACTIVE", staff, None)
            self.model.suspended.discard(number)
            return f"{number} is ACTIVE"
        self.accounts[number].change_status("SUSPENDED", staff, None)
        self.model.suspend(number)
        return str(number)

    def rule(self) -> str:
        from issuers.compliance.rules import set_rule
        from tests.approved import asker

        kind = "MAX_BALANCE"
        if self.model.most is not None:
            set_rule(self.token, kind, None, "", asker())
            self.model.most = None
            return "no rule"
        most = self.random.randint(5, 50)
        set_rule(self.token, kind, {"units": most}, "why", asker())
        self.model.most = most
        self.model.end_forbidden()
        return f"{most} units"

    def halt(self) -> str:
        from marketdata.trading.phases import change_phase
        from tests.approved import asker

        wanted = "HALTED" if self.model.phase == "CONTINUOUS" else "CONTINUOUS"
        change_phase(self.token.pk, wanted, asker(), "why")
        self.model.phase = wanted
        if wanted == "CONTINUOUS":
            self.model.open(self.reference())
        return wanted

    def reference(self) -> int:
        """Of the market: the model has none where no trade stands."""
        from marketdata.trading.models import Market

        return Market.objects.get(token=self.token).reference_price or 0

    def parameters(self) -> str:
        from marketdata.trading.parameters import latest, set_parameters
        from tests.approved import asker

        base, step = self.random.choice([1, 1, 2, 5]), self.random.choice([1, 2, 5, 10])
        is_table = self.random.random() < 0.5
        terms = Terms(
            [(0, base), (100, step)] if is_table else [(0, base)],
            self.random.choice([1, 1, 2, 3]),
            self.random.choice([2_000, 4_000]),
            self.random.choice([None, None, 600, 1_000]),
            self.random.choice([None, None, 6, 10]),
        )
        changed = {
            "tick_cents": base,
            "tick_floors": [100] if is_table else [],
            "tick_steps": [step] if is_table else [],
            "lot_units": terms.lot,
            "collar_bps": terms.band,
            "most_value": terms.most_value,
            "most_units": terms.most_units,
        }
        wanted = latest(self.token.pk).terms | changed
        set_parameters(self.token.pk, wanted, "why", asker())
        self.model.following = terms
        return f"{terms}"

    def reopen(self) -> str:
        from tests.marketdata.trading.trading import reopen

        if self.model.phase != "CONTINUOUS":
            return "nothing"
        for number, order in list(self.model.orders.items()):
            if order.is_over:
                del self.model.orders[number]
        reopen(self.token)
        self.model.reopen(self.reference())
        return f"around {self.model.reference}"

    def expire(self) -> str:
        from django.utils import timezone

        from marketdata.trading.market import expire_due
        from tests.owner import tamper

        numbers = [n for n in self.model.orders if self.random.random() < 0.3]
        for number in numbers:
            tamper(
                "UPDATE trading_order SET expires_at = clock_timestamp()"
                f" WHERE id = '{self.ids[number]}'"
            )
            self.model.orders[number].is_over = True
        # One comes before the sweep: it does not meet them.
        said = self.place()
        expire_due(timezone.now())
        for number in numbers:
            self.model.orders.pop(number, None)
        return f"{numbers}, {said}"

    def tariff(self) -> str:
        from marketdata.trading.fees import Terms
        from marketdata.trading.tariffs import set_tariff
        from tests.approved import asker

        of = self.random.choice([None, None, *range(len(self.partners))])
        partner = None if of is None else self.partners[of].pk
        if of in self.model.tariffs and self.random.random() < 0.3:
            set_tariff(self.token.pk, partner, None, None, "why", asker())
            del self.model.tariffs[of]
            return f"none of {of}"
        least = self.random.choice([0, 0, 5, 40, 300])
        rates = (
            self.random.choice([0, 5, 50, 333, 2_500]),
            self.random.choice([0, 10, 75, 500, 3_000]),
            least,
            self.random.choice([None, least, least + 20, least + 100]),
            self.random.choice([0, 700, 1_900, 2_000]),
        )
        terms = Terms(*rates)
        set_tariff(self.token.pk, partner, None, terms, "why", asker())
        self.model.tariffs[of] = rates
        return f"{rates} of {of}"

    def bust(self) -> str:
        from marketdata.trading.busts import NotBusted, bust
        from tests.approved import asker

        model = self.model
        numbers = [n for n, t in enumerate(model.trades, 1) if not t.is_busted]
        if not numbers:
            return "nothing"
        number = self.random.choice(numbers)
        trade = model.trades[number - 1]
        may, is_bound = model.may_bust(trade), model.frozen or model.most is not None
        try:
            bust(self.token.pk, number, "why", asker(), "")
            is_busted = True
        except NotBusted:
            is_busted = False
        assert is_busted == may or is_bound and not is_busted, trade
        if not is_busted:
            return f"{number} stands"
        model.bust(trade)
        return f"{number}: {trade}"

    def deposit(self) -> str:
        from tests.marketdata.trading.trading import deposit

        number, cents = self.random.randrange(len(USERS)), self.random.randint(1, 900)
        deposit(self.accounts[number], cents)
        self.model.cash[number] += cents
        return f"{cents} to {number}"

    def compare(self) -> None:
        from accounts.cash.models import CashHead
        from marketdata.trading.models import Market, Order
        from tests.marketdata.trading.trading import as_committed, purse, units

        as_committed()
        model = self.model
        market = Market.objects.get(token=self.token)
        charged = CashHead.objects.filter(pk=market.fees_account_id)
        assert sum(head.balance for head in charged) == model.fees
        for number, account in enumerate(self.accounts):
            assert purse(account) == (model.cash[number], model.held_cash(number))
            user = USERS[number]
            held = (model.units[user], model.held_units(user))
            assert units(self.token, account) == held
        rows = Order.objects.filter(token=self.token, status="OPEN").order_by(
            "priority"
        )
        found = [(o.pk, o.side, o.limit_price, o.remaining) for o in rows]
        expected = sorted(model.orders.items(), key=lambda item: item[1].came)
        assert found == [(self.ids[n], o.side, o.price, o.left) for n, o in expected]

    def verify(self) -> None:
        from marketdata.trading.replay import replay
        from marketdata.trading.replayed_fees import replay_fees
        from marketdata.trading.verification import INVARIANTS
        from partnerapi.core.invariants import check_invariants

        assert [found for found in check_invariants(INVARIANTS) if found.breaches] == []
        assert list(replay(self.token.pk)) == []
        assert list(replay_fees(self.token.pk)) == []


def run(seed: int, steps: int, is_busy: bool = False) -> int:
    """Take this many actions; the same seed yields the same ones. The trades' number.

    Raises:
        AssertionError: the market and its model differ.
    """
    both = Both(seed, is_busy)
    taken: list[str] = []
    try:
        for _ in range(steps):
            taken.append(both.step())
            both.compare()
        both.verify()
    except Exception as error:
        raise AssertionError(
            "\n".join([f"seed {seed}", *taken, repr(error)])
        ) from error
    return len(both.model.trades)


def main() -> int:
    from tests.installation import throw_away_installation

    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.trading.model",
        description="Compare a market with dictionaries, action by action.",
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--trades", type=int, default=0, help="then busy markets, up to so many trades"
    )
    arguments = parser.parse_args()
    with throw_away_installation():
        from django.db import transaction

        from tests.owner import tamper

        with transaction.atomic():
            tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
            runs = trades = 0
            while runs < arguments.runs or trades < arguments.trades:
                is_busy = runs >= arguments.runs
                trades += run(arguments.seed + runs, arguments.steps, is_busy)
                runs += 1
    said = f"{runs} × {arguments.steps} steps, {trades} trades: 0 differences\n"
    sys.stdout.write(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())

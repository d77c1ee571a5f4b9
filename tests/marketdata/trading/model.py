"""A market as dictionaries, and the real one: random actions lead to the same.

    python -m tests.marketdata.trading.model --runs 300 --steps 40
    python -m tests.marketdata.trading.model --runs 0 --trades 10000

It makes an installation of its own, takes each action in both and compares after each:
the phase, the prices that limits and bands refer to, the book that is shown, every
order, trade and balance, and what is reserved; then the statements of `verify market`,
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
from itertools import groupby
from math import floor
from typing import Any, NamedTuple

BUY, SELL = 0, 1
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
    """The numbers of its orders, buyer first; `taker` is the side that came, if one
    did."""

    orders: tuple[int, int]
    accounts: tuple[int, int]
    units: int
    value: int
    taker: int | None
    is_busted: bool = False


def is_far(price: int, other: int, band: int) -> bool:
    return abs(price - other) > other * band // 10_000


@dataclass
class Terms:
    """What orders are judged by; `table` has prices and the tick from each on."""

    table: list[tuple[int, int]] = field(default_factory=lambda: [(0, 1)])
    lot: int = 1
    band: int = 2_000
    most_value: int | None = None
    most_units: int | None = None
    dynamic: int = 1_000
    at_last: bool = False

    def tick(self, price: int) -> int:
        return [step for floor, step in self.table if floor <= price][-1]

    def is_off(self, price: int, left: int, reference: int) -> str | None:
        """The code of the first rule that a limit and open units break."""
        if price % self.tick(price):
            return "TICK_SIZE"
        if left % self.lot:
            return "LOT_SIZE"
        if is_far(price, reference, self.band):
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


class Auction(NamedTuple):
    """Its fills are numbers of a buy and a sell order, and units; `removed` are numbers
    of orders."""

    price: int | None
    surplus: int
    fills: list[tuple[int, int, int]]
    removed: set[int]


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
        self.is_fixing = False  # The call, or the last one.
        self.tariffs: dict[int | None, Rates] = {}  # By partner; None: the market's.
        self.sheets: dict[int, Sheet] = {}
        self.trades: list[Trade] = []
        self.fees = 0
        self.filled: Counter[int] = Counter()
        self.terms, self.following = Terms(), Terms()
        self.reference = self.last = 100
        self.shows_book = True
        self.limits: dict[int, list[int]] = {}
        """All that an accepted order has had."""
        self.blocks: set[tuple[int, int | None]] = set()
        """Of a partner, or of one of its accounts."""

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
        self, number: int, account: int, side: int, units: int, price: int, tif: str
    ) -> str | None:
        user = self.users[account]
        broken = self.terms.refuses(price, units, self.filled[number], self.reference)
        is_other = self.phase == "AT_LAST" and price != self.reference
        if is_other and broken in (None, "PRICE_OUTSIDE_COLLAR"):
            return "ONLY_AUCTION_PRICE"
        if broken:
            return broken
        if self.phase == "CALL" and tif != "GTC":
            return "ONLY_RESTING_ORDERS"
        if account in self.suspended:
            return "ACCOUNT_NOT_ACTIVE"
        if self.blocks & {(PARTNERS[account], None), (PARTNERS[account], account)}:
            return "ORDERS_BLOCKED"
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
        of = (number, account, side, units, price, tif)
        self.limits[number] = [price]
        return self.refusal(*of) or self.meet(*of)

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
            if self.phase != "CALL"
        ]
        last, is_outside = self.last, False
        for _, _, maker_number in sorted(others):
            maker = self.orders[maker_number]
            other = self.users[maker.account]
            if not units:
                break
            if other == user:
                tif = "IOC" if tif == "GTC" else tif
                break
            if self.is_outside(maker.price, last):
                is_outside = True
                break
            moved = min(units, maker.left)
            if self.forbids(maker.side, other, moved):
                del self.orders[maker_number]
                continue
            self.orders[number] = Open(account, side, price, units, came)
            both = (number, maker_number) if side == BUY else (maker_number, number)
            self.trade(both, moved, maker.price, side)
            del self.orders[number]
            self.last = maker.price
            maker.left -= moved
            units -= moved
            if not maker.left:
                del self.orders[maker_number]
        if units and tif == "FOK":
            self.cash, self.units, self.orders, self.filled = before[:4]
            self.sheets, self.trades, self.fees = before[4:]
            self.last = last
            return "OUTSIDE_BAND" if is_outside else "CANCELLED"
        if is_outside:
            self.phase, self.shows_book, self.is_fixing = "CALL", False, False
        if units and tif == "GTC":
            self.orders[number] = Open(account, side, price, units, came)
            return "OPEN"
        return "CANCELLED" if units else "FILLED"

    def is_outside(self, price: int, last: int) -> bool:
        """Whether nothing trades at this price by an order that came at another."""
        terms = self.terms
        is_inside = not is_far(price, last, terms.dynamic) and not is_far(
            price, self.reference, terms.band
        )
        return self.phase != "AT_LAST" and not is_inside

    def trade(
        self, sides: tuple[int, int], units: int, price: int, taker: int | None
    ) -> None:
        """Move units, cash and fees of two orders, the buy first."""
        orders = [self.orders[number] for number in sides]
        buyer, seller = (order.account for order in orders)
        value = units * price
        self.cash[buyer] -= value
        self.cash[seller] += value
        for number, order in zip(sides, orders, strict=True):
            fee = self.sheets[number].fill(value, order.side == taker, order.side)
            self.cash[order.account] -= fee
            self.fees += fee
        self.trades.append(Trade(sides, (buyer, seller), units, value, taker))
        self.units[self.users[buyer]] += units
        self.units[self.users[seller]] -= units
        self.filled.update(dict.fromkeys(sides, units))

    def call(self, otherwise: int, is_fixing: bool) -> None:
        """Staff begin a call, or the clock one that ends with a fixing."""
        self.refer(otherwise)
        self.is_fixing = is_fixing
        self.phase, self.shows_book = "CALL", False

    def end_call(self, otherwise: int) -> Auction:
        """Orders whose time is over take no part."""
        self.orders = {n: o for n, o in self.orders.items() if not o.is_over}
        auction = self.auction(is_judged=True)
        for number in auction.removed:
            del self.orders[number]
        for buy, sell, units in auction.fills:
            assert auction.price is not None
            self.trade((buy, sell), units, auction.price, None)
            for number in (buy, sell):
                self.orders[number].left -= units
                if not self.orders[number].left:
                    del self.orders[number]
        self.open(otherwise)
        if self.is_fixing and self.terms.at_last and auction.price is not None:
            self.phase = "AT_LAST"
        return auction

    def auction(self, is_judged: bool) -> Auction:
        """How a call would end now, with the rules of the token where it `is_judged`.

        Of two orders of one user that trade the younger is removed, and one whose
        fill a rule forbids; then all is determined anew.
        """
        left = dict(sorted(self.orders.items(), key=lambda item: item[1].came))
        while True:
            price, surplus, fills = self.crossing(left)
            removed = self.met_by_own(left, fills)
            if is_judged and not removed:
                removed = self.refused(fills)
            if not removed:
                return Auction(price, surplus, fills, self.orders.keys() - left)
            for number in removed:
                del left[number]

    def crossing(
        self, left: dict[int, Open]
    ) -> tuple[int | None, int, list[tuple[int, int, int]]]:
        """Price, surplus of bids and fills: each price is tried, unit by unit."""
        at: dict[int, tuple[int, int]] = {}
        for price in range(1, max((o.price for o in left.values()), default=0) + 1):
            of = left.values()
            bids = sum(o.left for o in of if o.side == BUY and o.price >= price)
            offers = sum(o.left for o in of if o.side == SELL and o.price <= price)
            if bids and offers and not price % self.terms.tick(price):
                at[price] = min(bids, offers), bids - offers
        if not at:
            return None, 0, []
        most = max(volume for volume, _ in at.values())
        surpluses = {p: rest for p, (volume, rest) in at.items() if volume == most}
        least = min(map(abs, surpluses.values()))
        best = [p for p, surplus in surpluses.items() if abs(surplus) == least]
        if least:
            highest = [p for p in best if surpluses[p] > 0][-1:]
            best = highest + [p for p in best if surpluses[p] < 0][:1]
        price = min(best, key=lambda p: (abs(p - self.reference), -p))
        lines = [
            [
                number
                for number, o in sorted(
                    left.items(), key=lambda i: (sign * i[1].price, i[1].came)
                )
                if o.side == side and sign * o.price <= sign * price
                for _ in range(o.left)
            ]
            for side, sign in ((BUY, -1), (SELL, 1))
        ]
        pairs = groupby(zip(*lines, strict=False))
        fills = [(buy, sell, len([*units])) for (buy, sell), units in pairs]
        return price, surpluses[price], fills

    def met_by_own(
        self, left: dict[int, Open], fills: list[tuple[int, int, int]]
    ) -> list[int]:
        trading = {number for fill in fills for number in fill[:2]}
        sides: dict[int, int] = {}
        return [
            number
            for number, o in left.items()
            if number in trading
            and sides.setdefault(self.users[o.account], o.side) != o.side
        ]

    def refused(self, fills: list[tuple[int, int, int]]) -> list[int]:
        """The orders whose fills rules forbid, after the fills that they allow."""
        refused: list[int] = []
        before = self.units.copy()
        for buy, sell, units in fills:
            if buy in refused or sell in refused:
                continue
            buyer, seller = (self.users[self.orders[n].account] for n in (buy, sell))
            if self.forbids(SELL, seller, units):
                refused.append(sell)
            elif self.forbids(BUY, buyer, units):
                refused.append(buy)
            else:
                self.units[buyer] += units
                self.units[seller] -= units
        self.units = before
        return refused

    def book(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Prices and units of bids and offers, as far as they are shown."""
        levels: tuple[Counter[int], Counter[int]] = Counter(), Counter()
        for order in self.orders.values() if self.shows_book else ():
            levels[order.side][order.price] += order.left
        return sorted(levels[BUY].items(), reverse=True), sorted(levels[SELL].items())

    def amend(self, number: int, left: int, price: int) -> str:
        order = self.orders.pop(number)
        refusal = self.refusal(number, order.account, order.side, left, price, "GTC")
        if refusal:
            self.orders[number] = order
            return refusal
        self.limits[number].append(price)
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

    def refer(self, otherwise: int) -> None:
        """Refer to the last trade that stands."""
        standing = [t.value // t.units for t in self.trades if not t.is_busted]
        self.reference = standing[-1] if standing else otherwise

    def open(self, otherwise: int) -> None:
        self.refer(otherwise)
        self.last = self.reference
        self.phase, self.shows_book = "CONTINUOUS", True

    def reopen(self, otherwise: int) -> None:
        """Open the next session; by new terms, end what is off."""
        self.open(otherwise)
        if self.terms is self.following:
            return
        self.terms = self.following
        for number, order in list(self.orders.items()):
            if self.terms.is_off(order.price, order.left, self.reference):
                del self.orders[number]

    def may_bust(self, trade: Trade, price: int | None) -> bool:
        """Whether the seller has the cash, and the buyer the units, unreserved; for
        a correction, also the cash that it takes, and no rule forbids the new trade."""
        buyer, seller = trade.accounts
        sheet = deepcopy(self.sheets[trade.orders[SELL]])
        back = sheet.bust(trade.value, trade.taker == SELL, SELL)
        free = self.cash[seller] - self.held_cash(seller)
        user = self.users[buyer]
        has_units = self.units[user] - self.held_units(user) >= trade.units
        if free < trade.value - back or not has_units:
            return False
        if price is None:
            return True
        highest, lowest = (self.limits[n] for n in trade.orders)
        is_price = price * trade.units != trade.value
        if not is_price or price % self.terms.tick(price):
            return False
        if not min(lowest) <= price <= max(highest):
            return False
        after = deepcopy(self)
        after.bust(deepcopy(trade))
        if after.forbids(BUY, user, trade.units) or self.users[seller] in self.frozen:
            return False
        after = deepcopy(self)
        after.correct(deepcopy(trade), price)
        return after.cash[buyer] >= after.held_cash(buyer)

    def correct(self, trade: Trade, price: int) -> None:
        """Another trade takes its place: what its orders have filled stays as it is."""
        self.bust(trade)
        value = price * trade.units
        for side, sign in ((BUY, 1), (SELL, -1)):
            account, sheet = trade.accounts[side], self.sheets[trade.orders[side]]
            fee = sheet.fill(value, trade.taker == side, side)
            self.fees += fee
            self.cash[account] -= sign * value + fee
            self.units[self.users[account]] += sign * trade.units
        of = (trade.orders, trade.accounts, trade.units, value, trade.taker)
        self.trades.append(Trade(*of))
        self.last = price

    def bust(self, trade: Trade) -> None:
        for side, sign in ((BUY, 1), (SELL, -1)):
            account, sheet = trade.accounts[side], self.sheets[trade.orders[side]]
            back = sheet.bust(trade.value, trade.taker == side, side)
            self.fees -= back
            self.cash[account] += sign * trade.value + back
            self.units[self.users[account]] -= sign * trade.units
        trade.is_busted = True
        standing = [t.value // t.units for t in self.trades if not t.is_busted]
        self.last = standing[-1] if standing else self.reference

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
    "parameters": 1, "reopen": 2, "call": 5, "block": 1,
}  # fmt: skip


BUSY = {
    "place": 1, "several": 8, "amend": 4, "cancel": 1, "deposit": 1, "tariff": 2,
    "bust": 2, "parameters": 1, "reopen": 1, "call": 4,
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
        self.blocks: dict[tuple[int, int | None], Any] = {}
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
        self.parameters()
        self.reopen()

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
            assert self.model.phase == "HALTED"
            return "closed"
        assert self.model.phase != "HALTED"
        statuses = []
        for order, result in zip(orders, results, strict=True):
            self.number += 1
            said = self.model.place(self.number, **order)
            if isinstance(result, Placed):
                self.ids[self.number] = result.order.pk
                statuses.append((self.number, said, result.order.status))
            else:
                assert result.code == said, (order, result, said)
        for number, said, status in statuses:
            # A later order of the list may have filled or ended it.
            is_over = said == "OPEN" and number not in self.model.orders
            assert said == status or is_over, (number, said, status)
        return f"{orders} {statuses}"

    def some_open(self) -> int | None:
        return self.random.choice([*self.model.orders] or [None])

    def amend(self) -> str:
        from marketdata.trading import market
        from marketdata.trading.models import Order
        from partnerapi.core.errors import PartnerAPIError

        number = self.some_open()
        if number is None or self.model.phase == "HALTED":
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

        if self.model.phase == "HALTED":
            return self.call()
        change_phase(self.token.pk, "HALTED", asker(), "why")
        self.model.phase = "HALTED"
        return "HALTED"

    def call(self) -> str:
        """Begin a call, or end the one that is, or the trading after it."""
        from marketdata.trading.models import Auction as Row
        from marketdata.trading.phases import change_phase
        from marketdata.trading.uncrossing import indicate
        from tests.approved import asker
        from tests.marketdata.trading.test_calls import end_call

        if self.model.phase == "AT_LAST" and self.random.random() < 0.5:
            self.reach("CONTINUOUS")
            self.model.open(self.reference())
            return "CONTINUOUS"
        if self.model.phase != "CALL":
            is_fixing = self.model.phase != "HALTED" and self.random.random() < 0.7
            if is_fixing:
                self.reach("CALL")
            else:
                change_phase(self.token.pk, "CALL", asker(), "why")
            self.model.call(self.reference(), is_fixing)
            return f"CALL, of a fixing: {is_fixing}"
        indicate(self.token.pk)
        row = Row.objects.get(token=self.token, ended=None)
        self.compare_auction(self.model.auction(is_judged=False), (
            row.indicative_price, row.indicative_quantity, row.indicative_surplus,
        ))  # fmt: skip
        over = self.some_over()
        end_call(self.token)
        row.refresh_from_db()
        auction = self.model.end_call(self.reference())
        assert row.fills == len(auction.fills)
        self.compare_auction(auction, (row.price, row.quantity, row.surplus))
        return f"without {over}: {auction}"

    def reach(self, phase: str) -> None:
        """Reach the time at which the clock begins this phase."""
        from marketdata.trading.phases import move
        from tests.owner import tamper

        tamper(
            f"UPDATE trading_market SET next_phase = '{phase}',"
            f" next_phase_at = clock_timestamp() WHERE token_id = '{self.token.pk}'"
        )
        assert move(self.token.pk)

    def compare_auction(
        self, auction: Auction, figures: tuple[int | None, int | None, int | None]
    ) -> None:
        volume = sum(units for _, _, units in auction.fills)
        if auction.price is None:
            assert not any(figures), figures
        else:
            assert figures == (auction.price, volume, auction.surplus), figures

    def some_over(self) -> list[int]:
        """End the time of some orders, which their market does not do yet."""
        from tests.owner import tamper

        numbers = [n for n in self.model.orders if self.random.random() < 0.2]
        for number in numbers:
            tamper(
                "UPDATE trading_order SET expires_at = clock_timestamp()"
                f" WHERE id = '{self.ids[number]}'"
            )
            self.model.orders[number].is_over = True
        return numbers

    def reference(self) -> int:
        """Of the market: the model has none where no trade stands."""
        from marketdata.trading.models import Market

        return Market.objects.get(token=self.token).reference_price or 0

    def parameters(self) -> str:
        from marketdata.trading.parameters import latest, set_parameters
        from tests.approved import asker
        from tests.marketdata.trading.test_session_times import around

        base, step = self.random.choice([1, 1, 1, 2]), self.random.choice([1, 1, 2, 5])
        is_table = self.random.random() < 0.5
        terms = Terms(
            [(0, base), (100, step)] if is_table else [(0, base)],
            self.random.choice([1, 1, 1, 1, 1, 2]),
            self.random.choice([2_000, 4_000]),
            self.random.choice([None] * 5 + [1_000]),
            self.random.choice([None] * 5 + [10]),
            self.random.choice([200, 300, 1_000]),
            self.random.random() < 0.7,
        )
        changed = {
            "tick_cents": base,
            "tick_floors": [100] if is_table else [],
            "tick_steps": [step] if is_table else [],
            "lot_units": terms.lot,
            "collar_bps": terms.band,
            "most_value": terms.most_value,
            "most_units": terms.most_units,
            "dynamic_band_bps": terms.dynamic,
            "model": "BOTH",
            # That of today has passed.
            "fixings": [around(-1).isoformat()],
            "at_last_minutes": 10 if terms.at_last else 0,
        }
        wanted = latest(self.token.pk).terms | changed
        set_parameters(self.token.pk, wanted, "why", asker())
        self.model.following = terms
        return f"{terms}"

    def reopen(self) -> str:
        from tests.marketdata.trading.trading import reopen
        from tests.owner import tamper

        if self.model.phase != "CONTINUOUS":
            return "nothing"
        for number, order in list(self.model.orders.items()):
            if order.is_over:
                del self.model.orders[number]
        tamper(
            "UPDATE trading_market SET next_phase = 'CLOSED'"
            f" WHERE token_id = '{self.token.pk}'"
        )
        reopen(self.token)
        self.model.reopen(self.reference())
        return f"around {self.model.reference}"

    def expire(self) -> str:
        from django.utils import timezone

        from marketdata.trading.market import expire_due

        numbers = self.some_over()
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
        price = self.random.choice([None, None, 98, 99, 100, 101, 102])
        may = model.may_bust(trade, price)
        try:
            bust(self.token.pk, number, "why", asker(), "", price)
            is_busted = True
        except NotBusted:
            is_busted = False
        assert is_busted == may, trade
        if not is_busted:
            return f"{number} stands"
        if price is None:
            model.bust(trade)
        else:
            model.correct(trade, price)
        return f"{number} at {price}: {trade}"

    def block(self) -> str:
        from marketdata.trading import controls
        from marketdata.trading.models import Order

        account = self.random.randrange(len(USERS))
        client, partner = self.accounts[account], PARTNERS[account]
        of = partner, self.random.choice([None, account])
        login = client.partner.login
        if of in self.model.blocks:
            assert controls.release(self.blocks.pop(of), login)
            self.model.blocks.remove(of)
            return f"{of} is free"
        own = client.pk if of[1] is not None else None
        self.blocks[of] = controls.block(client.partner_id, own, None, login)
        self.model.blocks.add(of)
        if self.random.random() < 0.5:
            return f"{of}, whose orders stay"
        found = Order.objects.filter(partner=client.partner_id)
        controls.sweep(found.filter(account=own) if own else found, "BY_PARTNER", login)
        self.model.orders = {
            n: o
            for n, o in self.model.orders.items()
            if o.account != account and (own or PARTNERS[o.account] != partner)
        }
        return f"{of}, whose orders end"

    def deposit(self) -> str:
        from tests.marketdata.trading.trading import deposit

        number, cents = self.random.randrange(len(USERS)), self.random.randint(1, 900)
        deposit(self.accounts[number], cents)
        self.model.cash[number] += cents
        return f"{cents} to {number}"

    def compare(self) -> None:
        from accounts.cash.models import CashHead
        from marketdata.trading.models import Execution, Market, Order
        from tests.marketdata.trading.test_calls import book_of
        from tests.marketdata.trading.trading import as_committed, purse, units

        as_committed()
        model = self.model
        market = Market.objects.get(token=self.token)
        assert (market.phase, market.reference_price) == (model.phase, model.reference)
        if model.phase == "CONTINUOUS":
            assert (market.last_price or market.reference_price) == model.last
        assert book_of(self.token) == model.book()
        tape = Execution.objects.filter(token=self.token).order_by("sequence")
        assert [
            *tape.values_list(
                "buy_order", "sell_order", "quantity", "price", "aggressor"
            )
        ] == [
            (*(self.ids[n] for n in t.orders), t.units, t.value // t.units, t.taker)
            for t in model.trades
        ]
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

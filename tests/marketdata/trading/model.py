"""A market as dictionaries, and the real one: random actions lead to the same.

    python -m tests.marketdata.trading.model --runs 300 --steps 40

It makes an installation of its own, takes each action in both and compares every order,
every balance and what is reserved after each; then the statements of `verify market`,
and at the end of a run the replay. It ends with the seed and the action that lead to a
difference, if there is one.
"""

import argparse
import random
import sys
from dataclasses import dataclass
from typing import Any

from tests.approved import desk

BUY, SELL = 0, 1
CLOSED_TO = {"CLOSED", "HALTED"}


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

    def held_cash(self, account: int) -> int:
        own = (o for o in self.orders.values() if (o.account, o.side) == (account, BUY))
        return sum(o.left * o.price for o in own)

    def held_units(self, user: int) -> int:
        own = (o for o in self.orders.values() if o.side == SELL)
        return sum(o.left for o in own if self.users[o.account] == user)

    def forbids(self, side: int, user: int, units: int) -> bool:
        too_many = self.most is not None and self.units[user] + units > self.most
        return user in self.frozen or side == BUY and too_many

    def refusal(self, account: int, side: int, units: int, price: int) -> str | None:
        user = self.users[account]
        if account in self.suspended:
            return "ACCOUNT_NOT_ACTIVE"
        if self.forbids(side, user, units):
            return "TRANSFER_REFUSED"
        if side == BUY and self.cash[account] - self.held_cash(account) < units * price:
            return "INSUFFICIENT_FUNDS"
        if side == SELL and self.units[user] - self.held_units(user) < units:
            return "INSUFFICIENT_UNITS"
        return None

    def place(
        self, number: int, account: int, side: int, units: int, price: int, tif: str
    ) -> str:
        return self.refusal(account, side, units, price) or self.meet(
            number, account, side, units, price, tif
        )

    def meet(
        self, number: int, account: int, side: int, units: int, price: int, tif: str
    ) -> str:
        cash, held = dict(self.cash), dict(self.units)
        orders = {n: Open(**vars(o)) for n, o in self.orders.items()}
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
            self.cash[buyer] -= moved * maker.price
            self.cash[seller] += moved * maker.price
            self.units[self.users[buyer]] += moved
            self.units[self.users[seller]] -= moved
            maker.left -= moved
            units -= moved
            if not maker.left:
                del self.orders[maker_number]
        if units and tif == "FOK":
            self.cash, self.units, self.orders = cash, held, orders
            return "CANCELLED"
        if units and tif == "GTC":
            self.orders[number] = Open(account, side, price, units, came)
            return "OPEN"
        return "CANCELLED" if units else "FILLED"

    def amend(self, number: int, left: int, price: int) -> str:
        order = self.orders.pop(number)
        refusal = self.refusal(order.account, order.side, left, price)
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

    def suspend(self, account: int) -> None:
        """Orders of the user's other accounts stay, even if a rule now forbids them."""
        self.suspended.add(account)
        own = (n for n, o in self.orders.items() if o.account == account)
        for number in list(own):
            del self.orders[number]


USERS = [0, 0, 1, 2, 3]
"""The user of each account: the first two are one user's, at two partners."""
WEIGHTS = {
    "place": 8, "several": 4, "amend": 3, "cancel": 2, "freeze": 1, "suspend": 1,
    "rule": 1, "halt": 1, "expire": 1, "deposit": 2,
}  # fmt: skip


class Both:
    """A market and its model, which receive the same actions."""

    def __init__(self, seed: int) -> None:
        from tests.marketdata.trading.trading import (
            deposit,
            give,
            new_clients,
            new_market,
            new_partner,
        )

        self.random = random.Random(seed)
        self.token = new_market()
        partner, other = new_partner(), new_partner()
        first, *rest = new_clients(4, partner)
        [second] = new_clients(1, other, [first.user])
        self.accounts = [first, second, *rest]
        self.model = Model(USERS)
        self.restrictions: dict[int, Any] = {}
        self.ids: dict[int, Any] = {}
        self.number = 0
        for number, account in enumerate(self.accounts):
            deposit(account, 2_000)
            self.model.cash[number] += 2_000
        give(self.token, {first: 30, rest[0]: 30, rest[1]: 10})
        self.model.units |= {0: 30, 1: 30, 2: 10}

    def step(self) -> str:
        action = self.random.choices([*WEIGHTS], [*WEIGHTS.values()])[0]
        return f"{action}: {getattr(self, action)()}"

    def some_order(self) -> dict[str, Any]:
        return {
            "account": self.random.randrange(len(USERS)),
            "side": self.random.choice([BUY, SELL]),
            "units": self.random.randint(1, 12),
            "price": self.random.randint(97, 103),
            "tif": self.random.choice(["GTC", "GTC", "GTC", "IOC", "FOK"]),
        }

    def place(self) -> str:
        return self.send([self.some_order()])

    def several(self) -> str:
        return self.send([self.some_order() for _ in range(self.random.randint(2, 6))])

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
        return wanted

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

    def deposit(self) -> str:
        from tests.marketdata.trading.trading import deposit

        number, cents = self.random.randrange(len(USERS)), self.random.randint(1, 900)
        deposit(self.accounts[number], cents)
        self.model.cash[number] += cents
        return f"{cents} to {number}"

    def compare(self) -> None:
        from marketdata.trading.models import Order
        from tests.marketdata.trading.trading import as_committed, purse, units

        as_committed()
        model = self.model
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
        from marketdata.trading.verification import INVARIANTS
        from partnerapi.core.invariants import check_invariants

        assert [found for found in check_invariants(INVARIANTS) if found.breaches] == []
        assert list(replay(self.token.pk)) == []


def run(seed: int, steps: int) -> None:
    """Take this many actions; the same seed yields the same actions.

    Raises:
        AssertionError: the market and its model differ.
    """
    both = Both(seed)
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


def main() -> int:
    from tests.installation import throw_away_installation

    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.trading.model",
        description="Compare a market with dictionaries, action by action.",
    )
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with throw_away_installation():
        from django.db import transaction

        from tests.owner import tamper

        with transaction.atomic():
            tamper("UPDATE accounts_approvalpolicy SET is_required = FALSE")
            for number in range(arguments.runs):
                run(arguments.seed + number, arguments.steps)
    sys.stdout.write(f"{arguments.runs} × {arguments.steps} steps: 0 differences\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

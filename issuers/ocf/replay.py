"""Replays an OCF package into movements of whole units per class; knows no database.

Securities keep their fractions. A holder's balance in the register is the whole part of
the sum of the holder's securities of a class. So a transaction of any kind is a change
of balances: units of a class that one holder loses and another gains are transferred,
the rest is made or destroyed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

from issuers.ocf.objects import Package
from issuers.ocf.steps import (
    AUTHORIZED,
    CONSOLIDATION,
    ISSUANCE,
    SPLIT,
    OcfStep,
    ReplayPlan,
    plan_replay,
)
from issuers.ocf.values import Broken, number_of


class Movement(NamedTuple):
    """A movement of units; made units have no source, destroyed ones no target."""

    class_id: str
    source: str | None
    target: str | None
    amount: int
    at: datetime
    reason: str


class IssuePrice(NamedTuple):
    class_id: str
    cents: int
    at: datetime


@dataclass(slots=True)
class Security:
    class_id: str
    holder_id: str
    quantity: int | Fraction


@dataclass(slots=True)
class Replay:
    package: Package | None = None
    plan: ReplayPlan | None = None
    event_count: int = 0
    first: dict[str, datetime] = field(default_factory=dict)
    """By class, when something first happens to it."""
    held: set[str] = field(default_factory=set)
    """All who ever held a unit."""
    authorized: dict[str, int] = field(default_factory=dict)
    balances: dict[str, Counter[str]] = field(default_factory=dict)
    """By class, then by holder; a holder of nothing stands there with 0."""
    kinds: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)
    """What has no place in a register, by what it is, or by type of object."""
    remarks: Counter[str] = field(default_factory=Counter)

    def note(self, event: Movement | IssuePrice) -> None:
        self.event_count += 1
        # They come in the order of their times.
        self.first.setdefault(event.class_id, event.at)
        if isinstance(event, Movement):
            self.held.update(filter(None, (event.source, event.target)))

    def events(self) -> Iterator[Movement | IssuePrice]:
        """All events in their order, replayed again: no one has to keep them."""
        if self.package is None or self.plan is None:
            return
        state = ReplayState(self.package, self.plan, Replay())
        for step in self.plan.steps:
            state.enter(step)
            yield from state.events
            state.events.clear()


def replay(package: Package, now: datetime) -> Replay:
    """Replay all transactions; errors go to the package's problems."""
    made = plan_replay(package, now)
    result = Replay(kinds=made.kinds, unplaced=made.unplaced, remarks=made.remarks)
    state = ReplayState(package, made, result)
    for step in made.steps:
        try:
            state.enter(step)
        except Broken as error:
            package.problems.append(step.problem(str(error)))
            made.broken.update(filter(None, (*step.gives, step.balance)))
        for event in state.events:
            result.note(event)
        state.events.clear()
    state.finish()
    if not package.problems:
        result.package, result.plan = package, made
    return result


class ReplayState:
    """The securities and balances after the steps so far."""

    def __init__(self, package: Package, made: ReplayPlan, result: Replay) -> None:
        self.package, self.made, self.result = package, made, result
        self.events: list[Movement | IssuePrice] = []
        """Those of the step that was entered last, until they are taken."""
        self.securities: dict[str, Security | OcfStep] = {}
        """Of one that is closed, the transaction that closed it."""
        # Of the classes that are split, because a split multiplies each of them.
        self.open: dict[str, dict[str, Security]] = {
            step.class_id: {} for step in made.steps if step.type == SPLIT
        }
        self.exact: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
        self.prices: dict[str, int] = {}
        self.result.balances = {key: Counter() for key in package.classes}
        for item in package.classes.values():
            if count := authorized_units(item.values.get("initial_shares_authorized")):
                self.result.authorized[item.id] = count

    def enter(self, step: OcfStep) -> None:
        if self.made.broken.intersection(step.takes):
            self.made.broken.update([*step.gives, step.balance])
        elif step.type == ISSUANCE:
            self.apply(
                step, [], [(step.gives[0], self.issued_security(step, step.gives[0]))]
            )
            self.price(step)
        elif step.type == AUTHORIZED:
            self.result.authorized[step.class_id] = floor(step.quantity or 0)
        elif step.type == SPLIT:
            self.split(step)
        else:
            self.take(step)

    def issued_security(self, step: OcfStep, id: str) -> Security:
        """The security as its issuance has it; it results from the step."""
        issuance = self.made.issuances.get(id)
        if issuance is None:
            raise Broken(
                f"results in {id!r}, which is issued nowhere in the package; add its "
                f"{ISSUANCE} or correct the id"
            )
        if issuance.at != step.at:
            self.result.remarks[
                "issuances entered on the date of their origin, not their own"
            ] += 1
        return Security(
            issuance.class_id, issuance.holder_id, issuance.quantity or Fraction(0)
        )

    def outstanding(self, id: str) -> Security:
        security = self.securities.get(id)
        if security is None:
            raise Broken(f"security {id!r} does not exist yet; correct the dates")
        if isinstance(security, OcfStep):
            raise Broken(
                f"security {id!r} was closed by {security.id}; use the resulting "
                "security, or remove one of the two"
            )
        return security

    def take(self, step: OcfStep) -> None:
        taken = [self.outstanding(id) for id in step.takes]
        held = sum((security.quantity for security in taken), Fraction(0))
        if self.made.broken.intersection(step.gives):
            self.made.broken.update([*step.gives, step.balance])
            return
        opened = [(id, self.issued_security(step, id)) for id in step.gives]
        given = sum((security.quantity for _, security in opened), Fraction(0))
        count = step.quantity
        if count is None:
            left = self.made.issuances.get(step.balance)
            count = held - ((left.quantity or 0) if left else 0)
        if count > held:
            raise Broken(
                f"takes {count} of security {step.takes[0]}, which holds {held}; "
                "correct the quantity"
            )
        self.check(step, taken, opened, count, given)
        opened += self.remainder(step, taken[0], held - count)
        self.apply(step, step.takes, opened)

    def check(
        self,
        step: OcfStep,
        taken: list[Security],
        opened: list[tuple[str, Security]],
        count: int | Fraction,
        given: int | Fraction,
    ) -> None:
        kind = step.type
        if not opened or kind == "TX_STOCK_CONVERSION":
            return
        classes = {s.class_id for s in taken} | {s.class_id for _, s in opened}
        if len(classes) > 1:
            raise Broken(
                f"mixes the classes {', '.join(sorted(classes))}; only a conversion "
                "can change the class"
            )  # fmt: skip
        links = {step.split_id} | {self.made.issuances[i].split_id for i, _ in opened}
        # A split may be rounded to whole units per certificate when it is reissued.
        slack = len(taken) + len(opened) if links - {""} else 0
        wrong = (
            given > count
            if kind == CONSOLIDATION
            else abs(Fraction(given - count)) > slack
        )
        if wrong:
            raise Broken(
                f"takes {count} and results in {given}; the resulting quantities must "
                "add up to it"
            )

    def remainder(
        self, step: OcfStep, taken: Security, left: int | Fraction
    ) -> list[tuple[str, Security]]:
        if not step.balance or self.made.broken.intersection([step.balance]):
            if left:
                self.result.remarks[(
                    "partial without a balance security: the rest stays in the "
                    "original security"
                )] += 1  # fmt: skip
            rest = Security(taken.class_id, taken.holder_id, left)
            return [(step.takes[0], rest)] if left else []
        if step.balance not in self.made.issuances:
            self.result.remarks[(
                "balance securities without an issuance: created with the remaining "
                "quantity"
            )] += 1  # fmt: skip
            return [(step.balance, Security(taken.class_id, taken.holder_id, left))]
        rest = self.issued_security(step, step.balance)
        if rest != Security(taken.class_id, taken.holder_id, left):
            raise Broken(
                f"leaves {left} of {taken.class_id} with {taken.holder_id}, but its "
                f"balance_security_id {step.balance} is {rest.quantity} of "
                f"{rest.class_id} with {rest.holder_id}; correct one of the two"
            )
        return [(step.balance, rest)]

    def split(self, step: OcfStep) -> None:
        opened = [
            (id, Security(s.class_id, s.holder_id, s.quantity * (step.quantity or 1)))
            for id, s in self.open[step.class_id].items()
        ]
        if step.class_id in self.prices:
            self.result.remarks["splits: the price of the class is unchanged"] += 1
        self.apply(step, [id for id, _ in opened], opened)

    def apply(
        self, step: OcfStep, closed: Iterable[str], opened: list[tuple[str, Security]]
    ) -> None:
        touched: dict[tuple[str, str], int] = {}

        def change(security: Security, count: int | Fraction) -> None:
            key = security.class_id, security.holder_id
            touched.setdefault(key, floor(self.exact[key]))
            self.exact[key] += count

        for id in closed:
            security = self.outstanding(id)
            change(security, -security.quantity)
            self.securities[id] = step
            self.open.get(security.class_id, {}).pop(id, None)
        for id, security in opened:
            change(security, security.quantity)
            self.securities[id] = security
            if security.class_id in self.open:
                self.open[security.class_id][id] = security
        deltas: dict[str, dict[str, int]] = defaultdict(dict)
        for (class_id, holder), was in touched.items():
            deltas[class_id][holder] = floor(self.exact[class_id, holder]) - was
        for class_id, changes in deltas.items():
            self.move(step, class_id, changes)

    def move(self, step: OcfStep, class_id: str, changes: dict[str, int]) -> None:
        balances = self.result.balances[class_id]
        # `pop` takes the last one first.
        losses = [(holder, -delta) for holder, delta in changes.items() if delta < 0]
        losses.reverse()
        for holder, delta in changes.items():
            balances[holder] += delta
            while delta > 0 and losses:
                loser, left = losses.pop()
                amount = min(delta, left)
                self.record(step, class_id, loser, holder, amount)
                delta -= amount
                if left > amount:
                    losses.append((loser, left - amount))
            if delta > 0:
                self.record(step, class_id, None, holder, delta)
        for loser, left in reversed(losses):
            self.record(step, class_id, loser, None, left)

    def record(
        self,
        step: OcfStep,
        class_id: str,
        source: str | None,
        target: str | None,
        amount: int,
    ) -> None:
        self.events.append(
            Movement(class_id, source, target, amount, step.at, step.reason)
        )

    def price(self, step: OcfStep) -> None:
        price = step.price
        if price is None:
            return
        currency = price.get("currency") if isinstance(price, dict) else None
        if not isinstance(currency, str) or not currency:
            raise Broken(f"share_price {price!r:.60} has no amount and currency")
        if currency != "EUR":
            self.result.unplaced[f"issue prices in {currency:.10}"] += 1
            return
        cents = number_of(price, "amount") * 100
        if cents.denominator != 1:
            self.result.unplaced["issue prices in fractions of a cent"] += 1
        elif self.prices.get(step.class_id) != cents:
            self.prices[step.class_id] = int(cents)
            self.events.append(IssuePrice(step.class_id, int(cents), step.at))

    def finish(self) -> None:
        for (class_id, holder), exact in self.exact.items():
            if rest := exact - floor(exact):
                what = f"{rest} of a unit of {class_id} with {holder}"
                self.result.unplaced[what] += 1
        if count := self.made.results_with_price:
            self.result.unplaced["share prices other than issue prices"] += count
        for item in self.package.others:
            self.result.unplaced[item.type] += 1


def authorized_units(value: Any) -> int | None:
    """The bound of a class; None where it is not a number, as "UNLIMITED" is."""
    try:
        return floor(number_of({"": value}, ""))
    except Broken:
        return None

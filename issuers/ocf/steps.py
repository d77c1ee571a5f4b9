"""Reads OCF transactions, and puts them into an order in which each can happen."""

import heapq
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction
from itertools import chain
from operator import attrgetter
from typing import Any

from issuers.ocf.comments import not_known
from issuers.ocf.objects import Item, Package, one_line, problem_in
from issuers.ocf.values import (
    Broken,
    intern_price,
    number_of,
    read_time,
    text_of,
    texts_of,
)
from partnerapi.core.problems import Problem

ISSUANCE, SPLIT = "TX_STOCK_ISSUANCE", "TX_STOCK_CLASS_SPLIT"
ACCEPTANCE, CONSOLIDATION = "TX_STOCK_ACCEPTANCE", "TX_STOCK_CONSOLIDATION"
AUTHORIZED = "TX_STOCK_CLASS_AUTHORIZED_SHARES_ADJUSTMENT"
# What a transaction that takes units from a security calls their number.
TAKEN = {
    "TX_STOCK_TRANSFER": "quantity",
    "TX_STOCK_CANCELLATION": "quantity",
    "TX_STOCK_REPURCHASE": "quantity",
    "TX_STOCK_CONVERSION": "quantity_converted",
    "TX_STOCK_RETRACTION": "",
    "TX_STOCK_REISSUANCE": "",
    CONSOLIDATION: "",
}
TOLD_TWICE = {"TX_STOCK_CANCELLATION", "TX_STOCK_REPURCHASE"}
GIVING = {
    "TX_STOCK_TRANSFER",
    "TX_STOCK_CONVERSION",
    "TX_STOCK_REISSUANCE",
    CONSOLIDATION,
}
"""Those of them that result in securities."""
READ = {ISSUANCE, SPLIT, ACCEPTANCE, AUTHORIZED, *TAKEN}
SAID = ("custom_id", "reason_text", "consideration_text")


@dataclass(slots=True)
class OcfStep:
    """A transaction that has an effect; its type says which fields it has."""

    file: str
    told: str
    """Its id and, after the end of a line, what it says of itself: one text a step."""
    type: str
    at: datetime
    quantity: int | Fraction | None = None
    """Of a split: by how much it multiplies."""
    class_id: str = ""
    holder_id: str = ""
    taken: str | tuple[str, ...] = ()
    given: str | tuple[str, ...] = ()
    balance: str = ""
    split_id: str = ""
    price: Any = None
    """The share price as the object has it."""
    is_entered: bool = False
    is_done: bool = False

    @property
    def id(self) -> str:
        return self.told.partition("\n")[0]

    # Most name one security, and a million lists would be as large as the rest.
    @property
    def takes(self) -> tuple[str, ...]:
        return (self.taken,) if isinstance(self.taken, str) else self.taken

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.given,) if isinstance(self.given, str) else self.given

    @property
    def named(self) -> list[str]:
        return [key for key in (*self.takes, *self.gives, self.balance) if key]

    @property
    def reason(self) -> str:
        """The reason of its entries in the ledger, at any length."""
        return f"{self.type} " + self.told.replace("\n", ": ", 1)

    def problem(self, rule: str) -> Problem:
        return problem_in(self.file, self.id, rule)


@dataclass(slots=True)
class ReplayPlan:
    """The steps in their order, and the issuances that result from steps."""

    steps: list[OcfStep] = field(default_factory=list)
    issuances: dict[str, OcfStep] = field(default_factory=dict)
    makers: dict[str, OcfStep] = field(default_factory=dict)
    """By security: the transaction that it results from; while it is planned."""
    results_with_price: int = 0
    """Issuances with a share price that result from steps, and so are no issue."""
    broken: set[str] = field(default_factory=set)
    """Securities of objects that are reported; what refers to them is not again."""
    kinds: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)


def plan_replay(package: Package, now: datetime) -> ReplayPlan:
    """Read and sort the transactions; errors go to the package's problems."""
    made = ReplayPlan(broken=set(package.broken))
    for kind, count in package.kinds.items():
        (made.kinds if kind in READ else made.unplaced)[kind] = count
    steps, accepted = [], []
    for step in package.transactions:
        try:
            check_step(step, package, now)
        except Broken as error:
            package.problems.append(step.problem(str(error)))
            made.broken.update(step.named)
            continue
        if step.type == ACCEPTANCE:
            accepted.append(step)
        elif step.type != ISSUANCE:
            steps.append(step)
        elif step.gives[0] in made.issuances:
            other = made.issuances[step.gives[0]].id
            rule = f"{step.gives[0]} was already issued by {other}; rename one"
            package.problems.append(step.problem(rule))
        else:
            made.issuances[step.gives[0]] = step
    read, package.transactions = package.transactions, []
    steps = without_doubles(steps, made)
    for step in steps:
        for security in [*step.gives, step.balance]:
            if not security:
                continue
            other_step = made.makers.setdefault(security, step)
            if other_step is not step:
                rule = f"{security} already results from {other_step.id}"
                package.problems.append(step.problem(rule))
    for item in package.others:
        lost = names(item) - made.issuances.keys()
        if item.type.endswith(("_EXERCISE", "_CONVERSION", "_RELEASE")):
            for name in ("security_id", "balance_security_id"):
                lost.discard(str(item.values.get(name)))
            made.remarks[(
                f"{item.type}: the resulting stock has no {ISSUANCE}; its shares are "
                "not entered"
            )] += len(lost)  # fmt: skip
    places = made.issuances, made.makers, made.broken
    for step in chain(accepted, steps):
        for security in step.takes:
            if not any(security in place for place in places):
                rule = (
                    f"security_id {security!r} is issued nowhere in the package; add "
                    f"its {ISSUANCE} or correct the id"
                )
                package.problems.append(step.problem(rule))
                made.broken.update(step.named)
    steps += (s for key, s in made.issuances.items() if key not in made.makers)
    made.steps = in_order(in_files_order(steps, read), made, package)
    for key, step in made.issuances.items():
        made.results_with_price += step.price is not None and key in made.makers
    made.makers.clear()
    return made


def in_files_order(steps: list[OcfStep], read: list[OcfStep]) -> list[OcfStep]:
    """Those of `read` that are among `steps`."""
    for step in steps:
        step.is_entered = True
    return [step for step in read if step.is_entered]


def without_doubles(steps: list[OcfStep], made: ReplayPlan) -> list[OcfStep]:
    """A cancellation and a repurchase of as many units of a security are one event.

    Some systems record it twice. The first of the two is kept, at the earlier date.
    """
    kept: dict[tuple[str, int | Fraction | None], OcfStep] = {}
    doubles = set()
    for step in steps:
        if step.type not in TOLD_TWICE:
            continue
        key = step.takes[0], step.quantity
        other = kept.get(key)
        if other is None or other.type == step.type:
            kept.setdefault(key, step)
            continue
        if other.balance and step.balance and other.balance != step.balance:
            continue
        del kept[key]
        other.at = min(other.at, step.at)
        other.balance = other.balance or step.balance
        doubles.add(id(step))
        made.remarks[(
            "cancellations that are also repurchases: entered once, at the earlier "
            "date"
        )] += 1  # fmt: skip
    return [step for step in steps if id(step) not in doubles]


SECURITIES = (
    "security_id", "balance_security_id", "resulting_security_id",
    "resulting_security_ids", "security_ids",
)  # fmt: skip


def names(item: Item) -> set[str]:
    """The ids of securities that a transaction names, if they are text."""
    found: list[Any] = []
    for key in SECURITIES:
        value = item.values.get(key)
        found += value if isinstance(value, list) else [value]
    return {text for text in found if isinstance(text, str) and text}


def read_step(item: Item, names: dict[str, str]) -> OcfStep:
    """A transaction, by itself; of the object nothing else is kept.

    Of each name of a security the same text is used, which `names` keeps.

    Raises:
        Broken
    """
    values = item.values

    def one(name: str) -> str:
        return names.setdefault(name, name)

    said = [values.get(name) for name in SAID]
    words = [one_line(text) for text in said if isinstance(text, str)]
    spoken = ": ".join(filter(None, words))
    step = OcfStep(
        item.file,
        f"{item.id}\n{spoken}" if spoken else item.id,
        sys.intern(item.type),
        read_time(values.get("date")),
    )
    if "share_price" not in not_known(values):
        step.price = intern_price(values.get("share_price"))
    if item.type in (SPLIT, AUTHORIZED, ISSUANCE):
        step.class_id = sys.intern(text_of(values, "stock_class_id"))
    if item.type == ISSUANCE:
        step.holder_id = sys.intern(text_of(values, "stakeholder_id"))
        step.quantity = number_of(values, "quantity")
        step.given = one(text_of(values, "security_id"))
    elif item.type == SPLIT:
        ratio = values.get("split_ratio")
        if not isinstance(ratio, dict):
            raise Broken("split_ratio is missing; give its numerator and denominator")
        over = number_of(ratio, "numerator")
        under = number_of(ratio, "denominator")
        if not over or not under:
            raise Broken(f"split_ratio {over}:{under} has a 0; both must be at least 1")
        step.quantity = Fraction(over) / under
    elif item.type == AUTHORIZED:
        step.quantity = number_of(values, "new_shares_authorized")
    elif item.type == CONSOLIDATION:
        step.taken = texts_of(values, "security_ids")
        step.given = text_of(values, "resulting_security_id")
    else:
        step.taken = one(text_of(values, "security_id"))
        if item.type in GIVING:
            given = texts_of(values, "resulting_security_ids")
            step.given = one(given[0]) if len(given) == 1 else given
        step.balance = one(text_of(values, "balance_security_id", needed=False))
        field_name = TAKEN.get(item.type)
        if field_name and values.get(field_name) is not None:
            step.quantity = number_of(values, field_name)
            if not step.quantity:
                raise Broken(f"{field_name} is 0; it must be at least 1")
    step.split_id = text_of(values, "split_transaction_id", needed=False)
    return step


def check_step(step: OcfStep, package: Package, now: datetime) -> None:
    if step.at > now:
        raise Broken(
            f"date {step.at:%Y-%m-%d} is in the future; a register holds past "
            "transactions only"
        )
    if step.class_id:
        refer(step.class_id, "stock_class_id", package.classes)
    if step.holder_id:
        refer(step.holder_id, "stakeholder_id", package.stakeholders)


def refer(id: str, name: str, known: dict[str, Item]) -> None:
    if id not in known:
        raise Broken(f"{name} {id!r} is not in the package; add it or correct the id")


def in_order(steps: list[OcfStep], made: ReplayPlan, package: Package) -> list[OcfStep]:
    """By time, then in the files' order; but a security comes before its takers."""
    linked_splits = {step.split_id for step in steps}
    linked_splits |= {step.split_id for step in made.issuances.values()}
    ids = {step.id: step for step in steps if step.id in linked_splits}
    splits: dict[tuple[str, datetime], OcfStep] = {
        (step.class_id, step.at): step for step in steps if step.type == SPLIT
    }

    def before(step: OcfStep) -> list[OcfStep]:
        needed = []
        for security in step.takes:
            maker = made.makers.get(security) or made.issuances.get(security)
            needed += [maker] if maker else []
        linked = {step.split_id} | {
            made.issuances[s].split_id for s in step.gives if s in made.issuances
        }
        if step.type != ISSUANCE:
            needed += [ids[id] for id in linked if id in ids]
        if step.type == "TX_STOCK_REISSUANCE":
            # The securities that a split reissues hold the multiplied units already.
            issued = made.issuances.get(step.gives[0])
            split = splits.get((issued.class_id, step.at)) if issued else None
            needed += [split] if split else []
        return needed

    return sorted_steps(steps, before, package)


def sorted_steps(
    steps: list[OcfStep], before: Callable[[OcfStep], list[OcfStep]], package: Package
) -> list[OcfStep]:
    """At each place the earliest step whose needs are done.

    Of one time, that is the first of `steps`.
    """
    steps.sort(key=attrgetter("at"))
    # Few steps wait, and each waits for one other step at a time.
    waiting: dict[int, list[tuple[int, OcfStep]]] = {}
    ready: list[tuple[int, OcfStep]] = []
    done: list[OcfStep] = []

    def await_needs(place: int, step: OcfStep) -> bool:
        for other in before(step):
            if not other.is_done:
                waiting.setdefault(id(other), []).append((place, step))
                return True
        return False

    def finish(step: OcfStep) -> None:
        step.is_done = True
        done.append(step)
        for place, follower in waiting.pop(id(step), ()):
            if not await_needs(place, follower):
                heapq.heappush(ready, (place, follower))

    for step in steps:
        for needed in {id(other): other for other in before(step)}.values():
            if needed.at > step.at:
                rule = (
                    f"happens on {step.at:%Y-%m-%d}, before {needed.id} of "
                    f"{needed.at:%Y-%m-%d}, which it needs; correct one of the dates"
                )
                package.problems.append(step.problem(rule))
    for place, step in enumerate(steps):
        while ready:
            finish(heapq.heappop(ready)[1])
        if not await_needs(place, step):
            finish(step)
    while ready:
        finish(heapq.heappop(ready)[1])
    if len(done) < len(steps):
        for step in steps:
            if not step.is_done:
                rule = "its security results from itself; correct the resulting ids"
                package.problems.append(step.problem(rule))
    return done

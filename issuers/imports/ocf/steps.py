"""Reads OCF transactions, and puts them into an order in which each can happen."""

import heapq
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from issuers.imports.ocf.reading import Item, Package, one_line

MAX_UNITS = 2**64 - 1
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
GIVING = {
    "TX_STOCK_TRANSFER",
    "TX_STOCK_CONVERSION",
    "TX_STOCK_REISSUANCE",
    CONSOLIDATION,
}
"""Those of them that result in securities."""
READ = {ISSUANCE, SPLIT, ACCEPTANCE, AUTHORIZED, *TAKEN}
SAID = ("custom_id", "reason_text", "consideration_text")
NUMBER = re.compile(r"\+?[0-9]{1,30}(\.[0-9]{1,20})?")


class Broken(Exception):
    """An object breaks a rule, which the message says."""


@dataclass(slots=True)
class OcfStep:
    """A transaction that has an effect; its type says which fields it has."""

    item: Item
    at: datetime
    quantity: Fraction | None = None
    class_id: str = ""
    holder_id: str = ""
    takes: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    balance: str = ""
    ratio: Fraction = Fraction(1)
    split_id: str = ""

    @property
    def reason(self) -> str:
        """The reason of its entries in the ledger, at any length."""
        said = [self.item.values.get(name) for name in SAID]
        words = [one_line(text) for text in said if isinstance(text, str)]
        return ": ".join([f"{self.item.type} {self.item.id}", *filter(None, words)])


@dataclass(slots=True)
class ReplayPlan:
    """The steps in their order, and the issuances that result from steps."""

    steps: list[OcfStep] = field(default_factory=list)
    issuances: dict[str, OcfStep] = field(default_factory=dict)
    makers: dict[str, OcfStep] = field(default_factory=dict)
    """By security: the transaction that it results from."""
    broken: set[str] = field(default_factory=set)
    """Securities of objects that are reported; what refers to them is not again."""
    kinds: Counter[str] = field(default_factory=Counter)
    unplaced: Counter[str] = field(default_factory=Counter)
    remarks: Counter[str] = field(default_factory=Counter)


def plan_replay(package: Package, now: datetime) -> ReplayPlan:
    """Read and sort the transactions; errors go to the package's problems."""
    made = ReplayPlan()
    steps, accepted = [], []
    for item in package.transactions:
        if item.type not in READ:
            made.unplaced[item.type] += 1
            continue
        made.kinds[item.type] += 1
        try:
            step = read_step(item, package, now)
        except Broken as error:
            package.problems.append(item.problem(str(error)))
            made.broken.update(names(item))
            continue
        if item.type == ACCEPTANCE:
            accepted.append(step)
        elif item.type != ISSUANCE:
            steps.append(step)
        elif step.gives[0] in made.issuances:
            other = made.issuances[step.gives[0]].item.id
            rule = f"{step.gives[0]} was issued by {other} already; rename one"
            package.problems.append(item.problem(rule))
        else:
            made.issuances[step.gives[0]] = step
    for step in steps:
        for security in [*step.gives, step.balance]:
            if not security:
                continue
            other_step = made.makers.setdefault(security, step)
            if other_step is not step:
                rule = f"{security} results from {other_step.item.id} already"
                package.problems.append(step.item.problem(rule))
    for item in package.others:
        lost = names(item) - made.issuances.keys()
        if item.type.endswith(("_EXERCISE", "_CONVERSION", "_RELEASE")):
            for name in ("security_id", "balance_security_id"):
                lost.discard(str(item.values.get(name)))
            made.remarks[f"{item.type}: stock that it results in has no {ISSUANCE}; "
                "its shares are not entered"] += len(lost)  # fmt: skip
    known = made.issuances.keys() | made.makers.keys() | made.broken
    for step in [*accepted, *steps]:
        for security in step.takes:
            if security not in known:
                rule = (
                    f"security_id {security!r} is issued nowhere in the package; add "
                    f"its {ISSUANCE} or correct the id"
                )
                package.problems.append(step.item.problem(rule))
                made.broken.update(names(step.item))
    roots = [step for key, step in made.issuances.items() if key not in made.makers]
    made.steps = in_order([*roots, *steps], made, package)
    return made


def names(item: Item) -> set[str]:
    """The ids of securities that a transaction names, if they are text."""
    found = [item.values.get(k) for k in ("security_id", "balance_security_id",
        "resulting_security_id")]  # fmt: skip
    for key in ("resulting_security_ids", "security_ids"):
        several = item.values.get(key)
        found += several if isinstance(several, list) else []
    return {text for text in found if isinstance(text, str) and text}


def read_step(item: Item, package: Package, now: datetime) -> OcfStep:
    values = item.values
    step = OcfStep(item, read_time(values.get("date"), now))
    if item.type in (SPLIT, AUTHORIZED, ISSUANCE):
        step.class_id = text_of(values, "stock_class_id")
        refer(step.class_id, "stock_class_id", package.classes)
    if item.type == ISSUANCE:
        step.holder_id = text_of(values, "stakeholder_id")
        refer(step.holder_id, "stakeholder_id", package.stakeholders)
        step.quantity = number_of(values, "quantity")
        step.gives = [text_of(values, "security_id")]
    elif item.type == SPLIT:
        ratio = values.get("split_ratio")
        if not isinstance(ratio, dict):
            raise Broken("split_ratio is missing; give its numerator and denominator")
        over = number_of(ratio, "numerator")
        under = number_of(ratio, "denominator")
        if not over or not under:
            raise Broken(f"split_ratio {over}:{under} has a 0; both are at least 1")
        step.ratio = over / under
    elif item.type == AUTHORIZED:
        step.quantity = number_of(values, "new_shares_authorized")
    elif item.type == CONSOLIDATION:
        step.takes = texts_of(values, "security_ids")
        step.gives = [text_of(values, "resulting_security_id")]
    else:
        step.takes = [text_of(values, "security_id")]
        if item.type in GIVING:
            step.gives = texts_of(values, "resulting_security_ids")
        step.balance = text_of(values, "balance_security_id", needed=False)
        field_name = TAKEN.get(item.type)
        if field_name and values.get(field_name) is not None:
            step.quantity = number_of(values, field_name)
            if not step.quantity:
                raise Broken(f"{field_name} is 0; a transaction takes more")
    step.split_id = text_of(values, "split_transaction_id", needed=False)
    return step


def refer(id: str, name: str, known: dict[str, Item]) -> None:
    if id not in known:
        raise Broken(f"{name} {id!r} is not in the package; add it or correct the id")


def read_time(value: Any, now: datetime) -> datetime:
    """The instant of a time, or midnight UTC of a date."""
    try:
        at = datetime.fromisoformat(value)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise Broken(f"date {value!r:.40} is no date like 2026-01-31") from None
    if at > now:
        raise Broken(f"date {value} is in the future; a register holds what was")
    return at


def text_of(values: dict[str, Any], name: str, *, needed: bool = True) -> str:
    value = values.get(name)
    if value in (None, "") and not needed:
        return ""
    if not isinstance(value, str) or not value or one_line(value) != value:
        raise Broken(f"{name} is {value!r:.80}; it has to be an id")
    return value


def texts_of(values: dict[str, Any], name: str) -> list[str]:
    found = values.get(name)
    if not isinstance(found, list) or not found:
        raise Broken(f"{name} is {found!r:.80}; it has to be a list of ids")
    return list(dict.fromkeys(text_of({name: value}, name) for value in found))


def number_of(values: dict[str, Any], name: str) -> Fraction:
    value = values.get(name)
    text = "" if isinstance(value, bool) or value is None else str(value).strip()
    if not NUMBER.fullmatch(text):
        raise Broken(f"{name} is {value!r:.60}; it has to be a number like 100.00")
    if Fraction(text) > MAX_UNITS:
        raise Broken(f"{name} is {text}; at most {MAX_UNITS} can exist")
    return Fraction(text)


def in_order(steps: list[OcfStep], made: ReplayPlan, package: Package) -> list[OcfStep]:
    """By time, then in the files' order; but a security comes before its takers."""
    ids = {step.item.id: step for step in steps}
    splits: dict[tuple[str, datetime], OcfStep] = {
        (step.class_id, step.at): step for step in steps if step.item.type == SPLIT
    }

    def before(step: OcfStep) -> list[OcfStep]:
        needed = []
        for security in step.takes:
            maker = made.makers.get(security) or made.issuances.get(security)
            needed += [maker] if maker else []
        linked = {step.split_id} | {
            made.issuances[s].split_id for s in step.gives if s in made.issuances
        }
        if step.item.type != ISSUANCE:
            needed += [ids[id] for id in linked if id in ids]
        if step.item.type == "TX_STOCK_REISSUANCE":
            # The securities that a split reissues hold the multiplied units already.
            issued = made.issuances.get(step.gives[0])
            split = splits.get((issued.class_id, step.at)) if issued else None
            needed += [split] if split else []
        return needed

    return sorted_steps(steps, before, package)


def sorted_steps(
    steps: list[OcfStep], before: Callable[[OcfStep], list[OcfStep]], package: Package
) -> list[OcfStep]:
    waiting: dict[int, int] = {}
    followers: dict[int, list[OcfStep]] = {}
    ready: list[tuple[datetime, int, OcfStep]] = []
    for step in steps:
        needed = {id(other): other for other in before(step)}
        waiting[id(step)] = len(needed)
        for key, other in needed.items():
            followers.setdefault(key, []).append(step)
            if other.at > step.at:
                rule = (
                    f"happens on {step.at:%Y-%m-%d}, before {other.item.id} of "
                    f"{other.at:%Y-%m-%d}, which it needs; correct one of the dates"
                )
                package.problems.append(step.item.problem(rule))
        if not needed:
            heapq.heappush(ready, (step.at, step.item.index, step))
    done: list[OcfStep] = []
    while ready:
        *_, step = heapq.heappop(ready)
        done.append(step)
        for follower in followers.get(id(step), ()):
            waiting[id(follower)] -= 1
            if not waiting[id(follower)]:
                heapq.heappush(ready, (follower.at, follower.item.index, follower))
    if len(done) < len(steps):
        for step in steps:
            if waiting[id(step)]:
                rule = "its security comes of itself; correct the resulting ids"
                package.problems.append(step.item.problem(rule))
    return done

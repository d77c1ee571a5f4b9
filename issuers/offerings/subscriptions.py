"""Subscriptions of investors: made, amended, withdrawn; with dry runs.

The subscribed units times the limit are reserved in the account's cash. The database
judges what is written, and locks in the order of core/locks.md.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from accounts.accounts.models import Account
from accounts.investors.models import InvestorClass
from issuers.models.tokens import MAX_VALUE
from issuers.offerings.errors import (
    AccountNotActive,
    AlreadySubscribed,
    InsufficientFunds,
    OfferingNotOpen,
    PriceOutsideBand,
    ReflectionPeriodEnded,
    SubscriptionChanged,
    SubscriptionNotActive,
    TicketSize,
    TransferRefused,
)
from issuers.offerings.models import (
    AllotmentRule,
    Offering,
    OfferingStatus,
    Subscription,
    SubscriptionStatus,
)
from issuers.register import ledger
from issuers.register.standing import Refusal
from partnerapi.core.database import fetch
from partnerapi.core.errors import BadUserInput, NotNow
from partnerapi.core.locks import lock
from partnerapi.core.times import to_rfc3339

SOPHISTICATED = (InvestorClass.PROFESSIONAL, InvestorClass.ELIGIBLE_COUNTERPARTY)
"""Classes that have no reflection period (Regulation (EU) 2020/1503, article 22)."""


class Terms(NamedTuple):
    """The units of a subscription, and the most that one may cost, euro cents."""

    units: int
    limit: int

    @property
    def cents(self) -> int:
        return self.units * self.limit


class Seen(NamedTuple):
    """What a subscription is judged by, at an instant."""

    at: datetime
    offering: Offering
    account_status: str
    investor_class: str | None
    available: int
    refusals: list[Refusal]

    def reflects_until(self) -> datetime:
        if self.investor_class in SOPHISTICATED:
            return self.at
        return self.at + timedelta(seconds=self.offering.reflection_seconds)


class MissingHolder(Exception):
    """The user has no ledger account yet; its id."""


def subscribe(
    offering: Offering,
    account: Account,
    terms: Terms,
    actor: str,
    is_trial: bool = False,
) -> Subscription:
    """Subscribe an account to an offering; a trial locks and writes nothing.

    Raises:
        AccountNotActive, AlreadySubscribed, InsufficientFunds, NotNow, OfferingNotOpen,
        PriceOutsideBand, TicketSize, TransferRefused
    """

    def attempt() -> Subscription:
        found = read(
            READ, [offering.pk, account.pk, terms.units, not is_trial], not is_trial
        )
        seen = seen_of(found)
        check_open(seen)
        if found["before"]:
            raise AlreadySubscribed(
                "The account already has an active subscription to this offering.",
                subscriptionID=f"OfferingSubscription|{found['before']}",
            )
        check(seen, terms)
        check_funds(seen, terms.cents)
        if is_trial:
            return would_be(offering, account, terms, seen)
        [made] = Subscription.objects.raw(
            SUBSCRIBE,
            [
                actor,
                uuid7(),
                offering.pk,
                account.pk,
                terms.units,
                terms.limit,
                seen.at,
            ],
        )
        return made

    try:
        return attempted(attempt)
    except MissingHolder as missing:
        ledger.holder_accounts([missing.args[0]])
        return attempted(attempt)


def attempted(attempt: Callable[[], Subscription]) -> Subscription:
    with transaction.atomic():
        return attempt()


def amend(
    subscription: Subscription,
    version: int,
    units: int | None,
    limit: int | None,
    actor: str,
    is_trial: bool = False,
) -> Subscription:
    """Change the units or the limit of a subscription; None keeps what it has.

    More units or a higher limit get a new place in time, and a new reflection period.

    Raises:
        ReflectionPeriodEnded, SubscriptionChanged, SubscriptionNotActive, and all
        refusals of a new subscription: it stays as it was.
    """
    wanted = units or subscription.quantity
    with transaction.atomic():
        found = read(
            READ_SUBSCRIPTION, [subscription.pk, wanted, not is_trial], not is_trial
        )
        seen, kept = seen_of(found), found["subscription"]
        check_active(kept)
        check_open(seen)
        if kept["version"] != version:
            raise SubscriptionChanged(
                f"The subscription has version {kept['version']}.",
                version=kept["version"],
            )
        before = Terms(kept["quantity"], kept["limit_price"])
        terms = Terms(units or before.units, limit or before.limit)
        if terms.units < before.units or terms.limit < before.limit:
            check_reflects(seen.at, datetime.fromisoformat(kept["reflects_until"]))
        check(seen, terms)
        check_funds(seen, terms.cents - before.cents)
        if is_trial:
            return amended(subscription, before, terms, seen)
        [made] = Subscription.objects.raw(
            AMEND, [actor, subscription.pk, version, *terms, seen.at]
        )
        return made


def withdraw(
    subscription: Subscription, actor: str, is_trial: bool = False
) -> Subscription:
    """End a subscription inside its reflection period, and free its cash.

    Raises:
        NotNow, ReflectionPeriodEnded, SubscriptionNotActive
    """
    with transaction.atomic():
        found = read(
            READ_SUBSCRIPTION,
            [subscription.pk, subscription.quantity, not is_trial],
            not is_trial,
        )
        seen, kept = seen_of(found), found["subscription"]
        check_active(kept)
        check_reflects(seen.at, datetime.fromisoformat(kept["reflects_until"]))
        if is_trial:
            subscription.status = SubscriptionStatus.WITHDRAWN
            subscription.version += 1
            subscription.updated_at = seen.at
            return subscription
        [ended] = Subscription.objects.raw(LEAVE, [actor, subscription.pk, seen.at])
        return ended


def read(statement: str, arguments: list[Any], holds: bool) -> dict[str, Any]:
    [(found,)] = (lock if holds else fetch)(statement, arguments, tuple)
    if "missing" in found:
        raise MissingHolder(UUID(found["missing"]))
    if found["settling"]:
        raise NotNow.for_seconds(found["settling"])
    return found


def seen_of(found: dict[str, Any]) -> Seen:
    row = found["offering"]
    for name in ("opens_at", "closes_at"):
        row[name] = datetime.fromisoformat(row[name])
    return Seen(
        datetime.fromisoformat(found["clock"]),
        Offering(**row),
        found["account"],
        found["class"],
        found["available"],
        [Refusal(code, details) for code, details in found["refusals"]],
    )


def check_active(kept: dict[str, Any]) -> None:
    if kept["status"] != SubscriptionStatus.ACTIVE:
        raise SubscriptionNotActive(
            f"The subscription is {kept['status']}.", status=kept["status"]
        )


def check_reflects(at: datetime, reflects_until: datetime) -> None:
    """Whether the investor may still withdraw: until the period's last microsecond."""
    if at >= reflects_until:
        until = to_rfc3339(reflects_until)
        raise ReflectionPeriodEnded(
            f"The subscription has been binding since {until}.", reflectsUntil=until
        )


def check_open(seen: Seen) -> None:
    offering = seen.offering
    if offering.status != OfferingStatus.OPEN or not (
        offering.opens_at <= seen.at < offering.closes_at
    ):
        opens, closes = to_rfc3339(offering.opens_at), to_rfc3339(offering.closes_at)
        raise OfferingNotOpen(
            f"The offering is {offering.status}; it takes subscriptions while it is "
            f"OPEN, from {opens} to {closes}.",
            status=offering.status,
            opensAt=opens,
            closesAt=closes,
        )


def check(seen: Seen, terms: Terms) -> None:
    offering = seen.offering
    if seen.account_status != Account.Status.ACTIVE:
        raise AccountNotActive(
            f"The account is {seen.account_status}; only an ACTIVE one subscribes.",
            status=seen.account_status,
        )
    largest = offering.largest_ticket or offering.maximum_units
    if not offering.smallest_ticket <= terms.units <= largest:
        raise TicketSize(
            f"Subscribe to {offering.smallest_ticket:,} to {largest:,} units.",
            smallestTicket=offering.smallest_ticket,
            largestTicket=largest,
        )
    floor, cap = offering.prices
    if not floor <= terms.limit <= cap:
        must = f"between {floor:,} and {cap:,}" if floor < cap else f"{floor:,}"
        raise PriceOutsideBand(
            f"The limit price must be {must} cents.",
            floor=floor,
            cap=cap,
        )
    if terms.cents > MAX_VALUE:
        raise BadUserInput(
            "The units are worth more than an amount can be.", argument="input.quantity"
        )
    if seen.refusals:
        raise TransferRefused.by(seen.refusals)


def check_funds(seen: Seen, cents: int) -> None:
    if cents > seen.available:
        raise InsufficientFunds(
            f"The account has {seen.available:,} cents available; it needs {cents:,}.",
            available=seen.available,
            required=cents,
        )


def would_be(
    offering: Offering, account: Account, terms: Terms, seen: Seen
) -> Subscription:
    return Subscription(
        offering=offering,
        account=account,
        partner_id=account.partner_id,
        quantity=terms.units,
        limit_price=terms.limit,
        status=SubscriptionStatus.ACTIVE,
        version=1,
        ranked_at=seen.at,
        reflects_until=seen.reflects_until(),
        created_at=seen.at,
        updated_at=seen.at,
    )


def amended(
    subscription: Subscription, before: Terms, terms: Terms, seen: Seen
) -> Subscription:
    if terms.units > before.units or terms.limit > before.limit:
        subscription.ranked_at = seen.at
        subscription.reflects_until = max(
            subscription.reflects_until, seen.reflects_until()
        )
    subscription.quantity, subscription.limit_price = terms
    subscription.version += 1
    subscription.updated_at = seen.at
    return subscription


def limit_of(offering: Offering, limit: int | None) -> int:
    """The limit price of a subscription; without one, the most that a unit may cost."""
    if limit is not None:
        return limit
    if offering.rule == AllotmentRule.BOOK:
        raise BadUserInput(
            "`limitPrice` is missing: the offering has a book.",
            argument="input.limitPrice",
        )
    return offering.prices[1]


READ = "SELECT offerings_read(%s, %s, %s, %s)"
READ_SUBSCRIPTION = "SELECT offerings_read_subscription(%s, %s, %s)"
SUBSCRIBE = "SELECT * FROM offerings_subscribe(%s, %s, %s, %s, %s, %s, %s)"
AMEND = "SELECT * FROM offerings_amend(%s, %s, %s, %s, %s, %s)"
LEAVE = "SELECT * FROM offerings_leave(%s, %s, %s)"

"""The allotment of an offering, computed from its subscriptions and the register."""

import hashlib
from typing import NamedTuple
from uuid import UUID

from accounts.accounts.models import Account
from issuers.offerings.allotment import (
    Allotment,
    Bid,
    Bounds,
    allot,
    clearing_price,
)
from issuers.offerings.models import (
    UNDER_WAY,
    Offering,
    Subscription,
    UnitSource,
)
from issuers.register.ledger import Entry, Kind
from issuers.register.standing import UNBOUND
from issuers.register.writer import LockedLedger, Writer

LIMIT_BELOW_PRICE = "LIMIT_BELOW_PRICE"
ACCOUNT_NOT_ACTIVE = "ACCOUNT_NOT_ACTIVE"


class Share(NamedTuple):
    """The units of a subscription, and by which code it gets fewer than its share."""

    subscription: Subscription
    units: int
    code: str


class Book(NamedTuple):
    """An offering's active subscriptions by time: bids, and what rules refuse whole."""

    subscriptions: list[Subscription]
    bids: list[Bid]
    refused: dict[UUID, str]
    bounds: Bounds


def book_of(offering: Offering) -> Book:
    """The subscriptions, as rules, restrictions and accounts are now; no lock."""
    found = list(
        offering.subscriptions.active()
        .select_related("account__user", "account__partner")
        .order_by("ranked_at", "id")
    )
    token_id = offering.token_id
    writer = Writer([token_id], "", holds=False)
    writer.load(
        Entry(token_id, Kind.ALLOCATE, 1, None, of.ledger_account_id) for of in found
    )
    ledger = writer.ledgers[token_id]
    bids, refused = [], {}
    for of in found:
        standing = ledger.standings.get(of.ledger_account_id, UNBOUND)
        if of.account.status != Account.Status.ACTIVE:
            refused[of.pk] = ACCOUNT_NOT_ACTIVE
        elif standing.receiving:
            refused[of.pk] = standing.receiving[0].code
        else:
            bids.append(Bid(of.pk, of.ledger_account_id, of.quantity, of.limit_price))
    return Book(found, bids, refused, bounds_of(offering, ledger))


def bounds_of(offering: Offering, ledger: LockedLedger) -> Bounds:
    # They are the token's: each account of it has the same.
    standing = next(iter(ledger.standings.values()), UNBOUND)
    return Bounds(
        standing.most_holders,
        standing.most_units,
        standing.most_bps,
        ledger.holders,
        ledger.supply,
        offering.source == UnitSource.MINT,
        ledger.balances,
    )


def proposed_price(offering: Offering, book: Book) -> int | None:
    """The price at which most units are sold, within the band; None: no bid."""
    return clearing_price(offering.maximum_units, book.bids)


def shares_of(offering: Offering, book: Book, price: int | None = None) -> list[Share]:
    """What each subscription would get at a price, else at the offering's, by time."""
    price = price or offering.price
    assert price is not None
    found = allot(offering.rule, offering.maximum_units, book.bids, price, book.bounds)
    return [
        Share(of, found.units.get(of.pk, 0), code_of(of, price, book, found))
        for of in book.subscriptions
    ]


def shares_now(offering: Offering) -> tuple[int | None, list[Share]]:
    """The price, or the one that the book proposes, and what each would get at it."""
    if offering.status not in UNDER_WAY:
        return offering.price, []
    book = book_of(offering)
    price = offering.price or proposed_price(offering, book)
    return price, shares_of(offering, book, price) if price else []


def code_of(of: Subscription, price: int, book: Book, found: Allotment) -> str:
    below = LIMIT_BELOW_PRICE if of.limit_price < price else ""
    return book.refused.get(of.pk) or found.refused.get(of.pk) or below


def digest_of(shares: list[Share]) -> str:
    """The SHA-256 of an allotment, as the database computes it."""
    lines = sorted((str(s.subscription.pk), s.units, s.code) for s in shares)
    text = "".join(f"{id} {units} {code}\n" for id, units, code in lines)
    return hashlib.sha256(text.encode()).hexdigest()

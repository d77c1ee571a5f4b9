"""Three years of the companies' registers: issued, priced, traded, some of it undone.

Delivered legacy shareholders have theirs by delivery, others bought or inherited;
some have sold everything since, and every treasury keeps a part.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from issuers.legacy.models import LegacyShareholder
from issuers.models import Issuer, Token
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind, Price
from partnerapi.sandbox.data.chance import OPENING, dice

YEARS = timedelta(days=3 * 365)
MOST_TRADERS = 60
SHARE_DELIVERED = 35
"""Of a hundred legacy shareholders."""
ACTOR = "registrar@sandbox.example"


def write_register(issuer: Issuer, count: int) -> None:
    """The histories of the issuer's tokens; the first one gets the legacy shares.

    `count` is how many legacy shareholders take part, the first ones.
    """
    tokens = list(
        issuer.tokens.filter(created_at__lt=OPENING + YEARS).order_by(
            "created_at", "id"
        )
    )
    legacy = LegacyShareholder.objects.filter(issuer=issuer)
    # In a sandbox from before there were registers, lines name no token.
    legacy.filter(token=None).update(token=tokens[0])
    lines = list(legacy.order_by("created_at", "id")[:count])
    delivered = [line for line in lines if line.pk.int % 100 < SHARE_DELIVERED]
    waiting = [line for line in lines if line.pk.int % 100 >= SHARE_DELIVERED]
    waiting = waiting[:MOST_TRADERS]
    users = [row.user_id for row in (*delivered, *waiting)]
    accounts = ledger.holder_accounts([*users, issuer.owner_id])
    traders = [accounts[row.user_id] for row in waiting] + [accounts[issuer.owner_id]]
    treasury = ledger.treasury(issuer)
    for token in tokens:
        deliveries = []
        if token == tokens[0]:
            deliveries = [
                Entry(
                    token.pk,
                    Kind.LEGACY_DELIVERY,
                    row.number_of_shares,
                    None,
                    accounts[row.user_id],
                    reason="Delivered at the migration",
                    legacy_shareholder_id=row.pk,
                )
                for row in delivered
            ]
        ledger.write_history(
            [token.pk], history(token, treasury, traders, deliveries), ACTOR
        )


def history(
    token: Token, treasury: int, traders: list[int], deliveries: list[Entry]
) -> Iterator[Entry | Price]:
    chance = dice("register", token.symbol)
    units = chance.randrange(20, 400) * 1000
    at = token.created_at + timedelta(days=3)
    yield Entry(token.pk, Kind.MINT, units, None, treasury, "Issue", at=at)
    price = chance.randrange(150, 90_000)
    yield Price(token.pk, price, "ISSUE", at)
    for number, delivery in enumerate(deliveries):
        # Staff delivered two hundred at a time.
        yield replace(delivery, at=at + timedelta(hours=1 + number // 200))
    at += timedelta(days=2)
    balances = dict.fromkeys(traders, 0)
    balances[treasury] = units
    for trader in traders:
        share = units * chance.randrange(5, 15) // (10 * len(traders) + 10)
        if share:
            at += timedelta(minutes=chance.randrange(1, 90))
            yield move(token, Kind.ALLOCATE, treasury, trader, share, balances, at)
    yield from trade(token, treasury, traders, balances, price, at, chance)


def trade(
    token: Token,
    treasury: int,
    traders: list[int],
    balances: dict[int, int],
    price: int,
    at: datetime,
    chance: Random,
) -> Iterator[Entry | Price]:
    end = OPENING + YEARS
    while (at := at + timedelta(days=chance.randrange(2, 9), seconds=at.second)) < end:
        holding = [trader for trader in traders if balances[trader]]
        turn = chance.random()
        if turn < 0.25 or len(holding) < 2:
            price = max(1, price * chance.randrange(93, 109) // 100)
            source = "TRADE" if turn < 0.15 else "NAV"
            yield Price(token.pk, price, source, at)
        elif turn < 0.3:
            seller = chance.choice(holding)
            part = 1 + balances[seller] // 4
            yield move(token, Kind.RETURN, seller, treasury, part, balances, at)
        elif turn < 0.32 and balances[treasury] > 10:
            part = balances[treasury] // 10
            balances[treasury] -= part
            reason = "Capital decrease"
            yield Entry(token.pk, Kind.BURN, part, treasury, None, reason, at=at)
        else:
            seller = chance.choice(holding)
            buyer = chance.choice([trader for trader in traders if trader != seller])
            # Many sell all they have.
            part = balances[seller]
            if chance.random() < 0.6:
                part = 1 + part // chance.randrange(2, 9)
            yield move(token, Kind.TRANSFER, seller, buyer, part, balances, at)


def move(
    token: Token,
    kind: str,
    source: int,
    target: int,
    units: int,
    balances: dict[int, int],
    at: datetime,
) -> Entry:
    units = min(units, balances[source])
    balances[source] -= units
    balances[target] += units
    return Entry(token.pk, kind, units, source, target, at=at)

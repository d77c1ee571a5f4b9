"""A token, holders and rules in plain Python, with an opinion on every movement."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.investors import writer as investors
from accounts.people.models import Country, User
from issuers.compliance import restrictions
from issuers.compliance.holders import approve_holder
from issuers.compliance.models import Restriction
from issuers.compliance.restrictions import Terms
from issuers.register import ledger
from issuers.register.ledger import Entry, Kind
from partnerapi.sandbox.data.approvals import ASKER, colleague
from tests.approved import approved_record, approved_rule
from tests.issuers.register import empty_token, new_issuer, people
from tests.owner import tamper

CLASSES = ["RETAIL", "INFORMED", "PROFESSIONAL", "ELIGIBLE_COUNTERPARTY"]
ENTERED = [
    Kind.TRANSFER,
    Kind.TRADE,
    Kind.ALLOCATE,
    Kind.RETURN,
    Kind.MINT,
    Kind.BURN,
    Kind.FORCED_TRANSFER,
]


@dataclass
class Held:
    """A holder, as the oracle knows it."""

    user: User
    account: int
    units: int
    reserved: int = 0
    profile: dict[str, Any] = field(default_factory=dict)
    is_approved: bool = False
    restrictions: list[dict[str, Any]] = field(default_factory=list)


class Company:
    """A token whose treasury has 1,000 units, and six holders with up to 100 each."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        issuer = new_issuer()
        symbol = f"C{dice.randrange(10**9)}"
        self.token = empty_token(issuer, symbol, timezone.now())
        self.other = empty_token(issuer, f"O{symbol}", timezone.now())
        self.own = ledger.treasury(issuer)
        users = people(6)
        accounts = ledger.holder_accounts(user.pk for user in users)
        units = [0, *(dice.randrange(1, 100) for _ in users[1:])]
        approved_record(
            [
                Entry(self.token.pk, Kind.MINT, 1000, None, self.own),
                *(
                    Entry(self.token.pk, Kind.MINT, n, None, accounts[user.pk])
                    for user, n in zip(users, units, strict=True)
                    if n
                ),
            ],
            "me",
        )
        self.holders = [
            Held(user, accounts[user.pk], n)
            for user, n in zip(users, units, strict=True)
        ]
        self.rules: dict[str, dict[str, Any]] = {}

    @property
    def supply(self) -> int:
        return 1000 + sum(holder.units for holder in self.holders)

    def bind(self) -> None:
        """Rules, profiles, restrictions and reservations by chance."""
        dice, now = self.dice, timezone.now()
        # Nothing binds what a transaction has made with its issuer.
        tamper(
            "UPDATE issuers_issuer SET recorded_in = NULL"
            f" WHERE id = '{self.token.issuer_id}'"
        )
        for kind, parameters in self.some_rules().items():
            approved_rule(self.token, kind, parameters)
            self.rules[kind] = parameters
        colleague(ASKER)
        for holder in self.holders:
            if dice.random() < 0.8:
                self.attest(holder, now)
            if dice.random() < 0.5:
                holder.is_approved = self.approve(holder, now)
            if dice.random() < 0.4:
                self.restrict(holder, now)
            if holder.units and dice.random() < 0.4:
                holder.reserved = dice.randrange(1, holder.units + 1)
                tamper(
                    f"UPDATE issuers_holderbalance SET reserved = {holder.reserved}"
                    f" WHERE account_id = {holder.account}"
                    f" AND token_id = '{self.token.pk}'"
                )

    def some_rules(self) -> dict[str, dict[str, Any]]:
        dice = self.dice
        listed = dice.sample(["FR", "DE", "US", "CH"], dice.randrange(1, 4))
        possible: dict[str, dict[str, Any]] = {
            "TRANSFERS_PAUSED": {},
            "VERIFIED_HOLDERS": {},
            "APPROVED_HOLDERS": {},
            "COUNTRIES": {dice.choice(["allowed", "refused"]): listed},
            "INVESTOR_CLASSES": {"classes": dice.sample(CLASSES, 2)},
            "MAX_HOLDERS": {"holders": dice.randrange(3, 8)},
            "MAX_BALANCE": dice.choice([{"units": dice.randrange(20, 150)},
                {"bps": dice.randrange(100, 1500)}]),
        }  # fmt: skip
        odds = {"TRANSFERS_PAUSED": 0.15, "APPROVED_HOLDERS": 0.3}
        return {
            kind: parameters
            for kind, parameters in possible.items()
            if dice.random() < odds.get(kind, 0.5)
        }

    def attest(self, holder: Held, now: datetime) -> None:
        dice = self.dice
        holder.profile = {
            "verification": dice.choice(["VERIFIED", "VERIFIED", "PENDING", "REFUSED"]),
            "verified_until": dice.choice(
                [None, now + timedelta(1), now - timedelta(1)]
            ),
            "tax_country": Country.objects.filter(
                pk=dice.choice(["FR", "DE", "US", None])
            ).first(),
            "investor_class": dice.choice(CLASSES),
        }
        investors.decide(holder.user, investors.Facts(**holder.profile), ASKER)

    def approve(self, holder: Held, now: datetime) -> bool:
        until = self.dice.choice([None, now + timedelta(1), now - timedelta(1)])
        approve_holder(self.token, holder.user, until, ASKER)
        return until is None or until > now

    def restrict(self, holder: Held, now: datetime) -> None:
        for _ in range(self.dice.randrange(1, 3)):
            kind = self.dice.choice([*Restriction.Kind])
            of = self.dice.choice([self.token, self.token, self.other, None])
            units = self.dice.choice([None, self.dice.randrange(1, 60)]) if of else None
            until = self.dice.choice([None, now + timedelta(1), now - timedelta(1)])
            to = "a bank" if kind == "PLEDGE" else ""
            terms = Terms(kind, "why", of, units, until, to)
            restrictions.restrict(holder.user, terms, ASKER)
            if of != self.other and (until is None or until > now):
                holder.restrictions.append({"kind": kind, "units": units})

    def some_entry(self) -> Entry:
        """One that has enough units, of an amount that meets bounds often."""
        dice, kind = self.dice, self.dice.choice(ENTERED)
        gives, takes = dice.sample(self.holders, 2)
        source: int | None = gives.account
        target: int | None = takes.account
        most = gives.units
        if kind in (Kind.ALLOCATE, Kind.MINT):
            source, most = (self.own if kind == Kind.ALLOCATE else None), 200
        elif kind == Kind.RETURN:
            target = self.own
        elif kind == Kind.BURN:
            target = None
        amount = dice.choice([1, max(most // 2, 1), max(most, 1)])
        return Entry(self.token.pk, kind, amount, source, target)

    def holder(self, account: int | None) -> Held | None:
        return next((h for h in self.holders if h.account == account), None)

    def verdict(self, entry: Entry) -> list[str]:
        """The codes of all rules that the entry breaks."""
        gives, takes = self.holder(entry.source), self.holder(entry.target)
        free = entry.kind in ("TRADE", "TRANSFER")
        found = set()
        if gives and (free or entry.kind in ("RETURN", "BURN")):
            if any(is_whole_freeze(r) for r in gives.restrictions):
                found.add("SENDER_FROZEN")
            rest = gives.units - entry.amount
            if rest < locked_of(gives):
                found.add("UNITS_LOCKED")
            if gives.reserved and rest < locked_of(gives) + gives.reserved:
                found.add("UNITS_RESERVED")
        elif gives and gives.reserved and gives.units - entry.amount < gives.reserved:
            found.add("UNITS_RESERVED")
        if free and "TRANSFERS_PAUSED" in self.rules:
            found.add("TRANSFERS_PAUSED")
        if takes:
            about_receiver = {
                code
                for code, is_broken in self.asked(takes, entry).items()
                if is_broken
            }
            if entry.kind == "FORCED_TRANSFER":
                about_receiver &= {"RECEIVER_FROZEN", "RECEIVER_NOT_VERIFIED"}
            found |= about_receiver
        return sorted(found)

    def asked(self, takes: Held, entry: Entry) -> dict[str, bool]:
        profile, now = takes.profile, timezone.now()
        lives = profile.get("tax_country")
        country = lives and lives.pk
        until = profile.get("verified_until")
        is_verified = profile.get("verification") == "VERIFIED" and (
            until is None or until > now
        )
        listed = self.rules.get("COUNTRIES", {})
        before = sum(holder.units > 0 for holder in self.holders)
        gives = self.holder(entry.source)
        left = bool(gives) and gives.units == entry.amount  # type: ignore[union-attr]
        after = before + (takes.units == 0) - left
        most_holders = self.rules.get("MAX_HOLDERS", {}).get("holders", 10**9)
        bound = self.rules.get("MAX_BALANCE", {})
        supply = self.supply + (entry.amount if entry.source is None else 0)
        most = bound.get("units", int(supply * bound.get("bps", 10**9) / 10_000))
        return {
            "RECEIVER_FROZEN": any(is_whole_freeze(r) for r in takes.restrictions),
            "RECEIVER_NOT_VERIFIED": "VERIFIED_HOLDERS" in self.rules
            and not is_verified,
            "COUNTRY_NOT_ALLOWED": country not in listed["allowed"]
            if "allowed" in listed
            else "refused" in listed and (not country or country in listed["refused"]),
            "INVESTOR_CLASS_NOT_ALLOWED": profile.get("investor_class", "RETAIL")
            not in self.rules.get("INVESTOR_CLASSES", {}).get("classes", CLASSES),
            "HOLDER_NOT_APPROVED": "APPROVED_HOLDERS" in self.rules
            and not takes.is_approved,
            "MAX_HOLDERS_EXCEEDED": after > most_holders and after > before,
            "MAX_BALANCE_EXCEEDED": takes.units + entry.amount > most,
        }


def is_whole_freeze(restriction: dict[str, Any]) -> bool:
    return restriction["kind"] == "FREEZE" and restriction["units"] is None


def locked_of(holder: Held) -> int:
    return sum(
        10**12 if r["units"] is None else r["units"]
        for r in holder.restrictions
        if not is_whole_freeze(r)
    )

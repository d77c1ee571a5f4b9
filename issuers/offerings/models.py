"""Offerings of the primary market, and investors' subscriptions.

Functions of the database (`issuers/sql/offerings`) alone write these tables. Amounts
are euro cents, quantities are units.
"""

from typing import Any

import uuid_utils.compat as uuid
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from accounts.access import Caller, Scope
from accounts.accounts.models import Account
from accounts.cash.models import CashAccount
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models.issuers import Issuer
from issuers.models.tokens import Token
from issuers.register.models import LedgerAccount
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH

REFLECTION_SECONDS = 4 * 24 * 60 * 60
"""Regulation (EU) 2020/1503, article 22: four calendar days."""
MOST_REFLECTION_SECONDS = 365 * 24 * 60 * 60
BPS = 10_000
MOST_DOCUMENTS = 20
"""That an offering names; `offerings_draft` keeps it."""


class OfferingStatus(models.TextChoices):
    DRAFT = "DRAFT", "Draft"
    OPEN = "OPEN", "Open"
    CLOSED = "CLOSED", "Closed"
    ALLOTTED = "ALLOTTED", "Allotted"
    SETTLED = "SETTLED", "Settled"
    FAILED = "FAILED", "Failed"
    WITHDRAWN = "WITHDRAWN", "Withdrawn"


UNDER_WAY = OfferingStatus.OPEN, OfferingStatus.CLOSED, OfferingStatus.ALLOTTED
"""A token has one of these at most, and does not leave the primary market."""


class AllotmentRule(models.TextChoices):
    FIRST_COME = "FIRST_COME", "First come, first served"
    PRO_RATA = "PRO_RATA", "Pro rata"
    BOOK = "BOOK", "One price from the book"


class UnitSource(models.TextChoices):
    TREASURY = "TREASURY", "The issuer's treasury"
    MINT = "MINT", "New units"


class OfferingQuerySet(models.QuerySet["Offering"]):
    def visible_to(self, caller: Caller | None) -> "OfferingQuerySet":
        """Those of tokens that the caller may see, once two people have opened them."""
        tokens = Token.objects.visible_to(caller)
        return self.filter(token__in=tokens.values("pk")).exclude(opened_by="")

    def naming(self, documents: list[Any]) -> "OfferingQuerySet":
        """Those that name all of these documents, by id."""
        return self.filter(documents__contains=documents)

    def last_price(self) -> int | None:
        """The cents for which units were sold last; None: none were.

        It is proposed as the reference price of the secondary market.
        """
        settled = self.filter(status=OfferingStatus.SETTLED).order_by("updated_at")
        return settled.values_list("price", flat=True).last()


class Offering(models.Model):
    """The sale of a token's units by its issuer, at one price.

    Two people open it, price it, allot its units and settle it. Only a draft's terms
    change. While `settling_until` lies ahead, its investors' orders are refused.
    """

    Status = OfferingStatus

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="offerings", db_index=False
    )
    status = models.CharField(max_length=9, choices=OfferingStatus)
    status_reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    rule = models.CharField(max_length=10, choices=AllotmentRule)
    source = models.CharField(max_length=8, choices=UnitSource)
    price = models.BigIntegerField(
        null=True, help_text="Euro cents; empty until the book has given it."
    )
    price_floor = models.BigIntegerField(null=True, help_text="Euro cents.")
    price_cap = models.BigIntegerField(null=True, help_text="Euro cents.")
    maximum_units = models.BigIntegerField(help_text="Units offered.")
    minimum_units = models.BigIntegerField(help_text="With fewer it fails.")
    smallest_ticket = models.BigIntegerField(help_text="Units of a subscription.")
    largest_ticket = models.BigIntegerField(
        null=True, help_text="Units of a subscription; empty: no bound."
    )
    opens_at = models.DateTimeField()
    closes_at = models.DateTimeField()
    reflection_seconds = models.BigIntegerField(
        help_text="How long an investor that is not sophisticated may withdraw."
    )
    fee_bps = models.IntegerField(help_text="Basis points of the proceeds.")
    vat_bps = models.IntegerField(help_text="Value added tax, basis points of the fee.")
    documents = ArrayField(models.UUIDField(), default=list)
    settling_until = models.DateTimeField(null=True)
    fee_net = models.BigIntegerField(null=True, help_text="Euro cents.")
    fee_vat = models.BigIntegerField(null=True, help_text="Euro cents.")
    fee_transaction = models.BigIntegerField(null=True, unique=True)
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    opened_by = models.CharField(max_length=ACTOR_LENGTH, blank=True)
    approved_by = models.CharField(max_length=ACTOR_LENGTH, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = OfferingQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "offering_status_is_known",
                Q(status__in=OfferingStatus.values),
            ),
            check("offering_source_is_known", Q(source__in=UnitSource.values)),
            check(
                "offering_price_is_fixed_or_from_a_book",
                Q(
                    rule__in=["FIRST_COME", "PRO_RATA"],
                    price__gte=1,
                    price_floor__isnull=True,
                    price_cap__isnull=True,
                )
                | Q(
                    rule="BOOK",
                    price_floor__gte=1,
                    price_cap__gte=F("price_floor"),
                )
                & (
                    Q(price__isnull=True)
                    | Q(price__gte=F("price_floor"), price__lte=F("price_cap"))
                ),
            ),
            check(
                "offering_has_its_prices",
                Q(rule__in=["FIRST_COME", "PRO_RATA"], price__isnull=False)
                | Q(rule="BOOK", price_floor__isnull=False, price_cap__isnull=False)
                & (Q(price__isnull=True) | ~Q(status__in=["DRAFT", "OPEN"])),
            ),
            check(
                "offering_minimum_is_within_its_maximum",
                Q(minimum_units__gte=1, maximum_units__gte=F("minimum_units")),
            ),
            check(
                "offering_tickets_are_within_its_maximum",
                Q(smallest_ticket__gte=1, smallest_ticket__lte=F("maximum_units"))
                & (
                    Q(largest_ticket__isnull=True)
                    | Q(largest_ticket__gte=F("smallest_ticket"))
                ),
            ),
            check("offering_closes_after_it_opens", Q(closes_at__gt=F("opens_at"))),
            check(
                "offering_rates_are_within_the_value",
                Q(
                    fee_bps__gte=0,
                    fee_bps__lte=BPS,
                    vat_bps__gte=0,
                    vat_bps__lte=BPS,
                ),
            ),
            check(
                "offering_reflection_is_within_a_year",
                Q(
                    reflection_seconds__gte=0,
                    reflection_seconds__lte=MOST_REFLECTION_SECONDS,
                ),
            ),
            models.UniqueConstraint(
                fields=["token"],
                condition=Q(status__in=["OPEN", "CLOSED", "ALLOTTED"]),
                name="offering_under_way_is_one_of_its_token",
            ),
        ]
        indexes = [
            models.Index(fields=["opens_at", "id"], name="offering_list_order"),
            models.Index(fields=["token", "opens_at"], name="offerings_of_a_token"),
            models.Index(
                fields=["closes_at"],
                condition=Q(status__in=["OPEN", "CLOSED"]),
                name="offering_due",
            ),
            GinIndex(fields=["documents"], name="offerings_by_document"),
            models.Index(
                fields=["settling_until"],
                condition=Q(settling_until__isnull=False),
                name="offering_settling",
            ),
        ]

    def __str__(self):
        return f"Offering of {self.token}"

    @property
    def prices(self) -> tuple[int, int]:
        """The least and the most that a unit may cost, euro cents."""
        if self.rule == AllotmentRule.BOOK:
            assert self.price_floor is not None
            assert self.price_cap is not None
            return self.price_floor, self.price_cap
        assert self.price is not None
        return self.price, self.price


class SubscriptionStatus(models.TextChoices):
    ACTIVE = "ACTIVE", "Active"
    WITHDRAWN = "WITHDRAWN", "Withdrawn"
    SETTLED = "SETTLED", "Settled"
    RELEASED = "RELEASED", "Released"


class SubscriptionQuerySet(models.QuerySet["Subscription"]):
    def visible_to(self, caller: Caller | None) -> "SubscriptionQuerySet":
        """Those of the caller's accounts, given the scope."""
        if caller is None or Scope.TRADING_READ not in caller.scopes:
            return self.none()
        return self.filter(partner_id=caller.partner_id)

    def active(self) -> "SubscriptionQuerySet":
        return self.filter(status=SubscriptionStatus.ACTIVE)

    def covered(self) -> "SubscriptionQuerySet":
        """Active ones whose reflection period has ended."""
        return self.active().filter(reflects_until__lte=Now())


class Subscription(models.Model):
    """An investor's subscription to units of an offering.

    While it is ACTIVE, its limit times its units is reserved in the account's cash.
    `ranked_at` is its place among the others. Before `reflects_until` the investor may
    withdraw it. `allotted` and `refusal` are of the last allotment.
    """

    Status = SubscriptionStatus

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    offering = models.ForeignKey(
        Offering, models.PROTECT, related_name="subscriptions", db_index=False
    )
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="subscriptions", db_index=False
    )
    user = models.ForeignKey(User, models.PROTECT, related_name="+", db_index=False)
    ledger_account = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="+", db_index=False
    )
    cash_account = models.ForeignKey(
        CashAccount, models.PROTECT, related_name="+", db_index=False
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="+", db_index=False
    )
    quantity = models.BigIntegerField(help_text="Units.")
    limit_price = models.BigIntegerField(help_text="Euro cents.")
    status = models.CharField(max_length=9, choices=SubscriptionStatus)
    version = models.IntegerField()
    ranked_at = models.DateTimeField()
    reflects_until = models.DateTimeField()
    allotted = models.BigIntegerField(null=True, help_text="Units.")
    refusal = models.CharField(max_length=40, blank=True)
    ledger_seq = models.BigIntegerField(null=True)
    cash_transaction = models.BigIntegerField(null=True, unique=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = SubscriptionQuerySet.as_manager()

    class Meta:
        constraints = [
            check(
                "subscription_status_is_known",
                Q(status__in=SubscriptionStatus.values),
            ),
            check(
                "subscription_is_of_units_at_a_price",
                Q(quantity__gte=1, limit_price__gte=1),
            ),
            check(
                "subscription_gets_at_most_its_units",
                Q(allotted__isnull=True)
                | Q(allotted__gte=0, allotted__lte=F("quantity")),
            ),
            check(
                "subscription_that_settled_has_its_entry_and_payment",
                Q(
                    status="SETTLED",
                    allotted__gte=1,
                    ledger_seq__isnull=False,
                    cash_transaction__isnull=False,
                )
                | ~Q(status="SETTLED")
                & Q(ledger_seq__isnull=True, cash_transaction__isnull=True),
            ),
            models.UniqueConstraint(
                fields=["account", "offering"],
                condition=Q(status="ACTIVE"),
                name="subscription_of_an_account_is_one",
            ),
        ]
        indexes = [
            models.Index(
                fields=["account", "created_at", "id"], name="subscription_list_order"
            ),
            models.Index(
                fields=["offering", "ranked_at", "id"], name="subscriptions_by_time"
            ),
            models.Index(
                fields=["cash_account"],
                condition=Q(status="ACTIVE"),
                name="subscription_reserves",
            ),
        ]

    def __str__(self):
        return f"{self.quantity} units for {self.account}"


class IssuerCash(models.Model):
    """The cash account to which an issuer's offerings are paid."""

    issuer = models.OneToOneField(
        Issuer, models.PROTECT, primary_key=True, related_name="cash"
    )
    cash_account = models.OneToOneField(
        CashAccount, models.PROTECT, related_name="issuer_cash"
    )

    class Meta:
        verbose_name_plural = "cash of issuers"

    def __str__(self):
        return str(self.issuer)

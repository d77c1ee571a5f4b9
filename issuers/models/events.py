"""Events: changes, reported to each partner in the order of commits.

Functions and triggers record the changes of a transaction; at its commit they are
numbered for every partner who may see them. Nothing else writes these tables.
"""

from collections.abc import Callable, Sequence

import uuid_utils.compat as uuid
from django.conf import settings
from django.db import models
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce

from accounts.access import Caller, Scope
from accounts.keys.models import Partner
from issuers.models.tokens import Token
from partnerapi.core.constraints import check
from partnerapi.core.database import delete_in_batches, rows_of, value_of

PRUNED_AT_ONCE = 1000


class EventType(models.TextChoices):
    ACCOUNT_STATUS_CHANGED = "ACCOUNT_STATUS_CHANGED", "Account status changed"
    LEGACY_SHARES_DELIVERED = "LEGACY_SHARES_DELIVERED", "Legacy shares delivered"
    REGISTER_CHANGED = "REGISTER_CHANGED", "Register changed"
    TOKEN_PRICE_CHANGED = "TOKEN_PRICE_CHANGED", "Token price changed"
    FINANCIAL_DATA_PUBLISHED = "FINANCIAL_DATA_PUBLISHED", "Financial data published"
    ARTICLE_PUBLISHED = "ARTICLE_PUBLISHED", "Article published"
    GRANT_CHANGED = "GRANT_CHANGED", "Grant changed"
    KEY_CHANGED = "KEY_CHANGED", "Key changed"
    ORDER_ACCEPTED = "ORDER_ACCEPTED", "Order accepted"
    ORDER_AMENDED = "ORDER_AMENDED", "Order amended"
    ORDER_TRADED = "ORDER_TRADED", "Order traded"
    ORDER_CANCELLED = "ORDER_CANCELLED", "Order cancelled"
    ORDER_EXPIRED = "ORDER_EXPIRED", "Order expired"
    TRADE_BUSTED = "TRADE_BUSTED", "Trade busted"
    TRADE_BUST_REQUESTED = "TRADE_BUST_REQUESTED", "Bust of a trade requested"
    CASH_CHANGED = "CASH_CHANGED", "Cash changed"
    DEPOSIT_UNASSIGNED = "DEPOSIT_UNASSIGNED", "Deposit unassigned"
    INVESTOR_CHANGED = "INVESTOR_CHANGED", "Investor changed"
    MARKET_PHASE_CHANGED = "MARKET_PHASE_CHANGED", "Market phase changed"
    MARKET_PARAMETERS_CHANGED = "MARKET_PARAMETERS_CHANGED", "Market parameters changed"
    ORDER_ENDS_AT_OPENING = "ORDER_ENDS_AT_OPENING", "Order ends at the next opening"
    AUCTION_INDICATED = "AUCTION_INDICATED", "Auction indicated"
    ORDERS_BLOCKED = "ORDERS_BLOCKED", "Orders blocked"
    ORDERS_RELEASED = "ORDERS_RELEASED", "Orders released"
    OFFERING_CHANGED = "OFFERING_CHANGED", "Offering changed"
    SUBSCRIPTION_CHANGED = "SUBSCRIPTION_CHANGED", "Subscription changed"


NEEDED_SCOPES: dict[EventType, Scope | None] = {
    EventType.ACCOUNT_STATUS_CHANGED: Scope.ACCOUNTS_READ,
    EventType.LEGACY_SHARES_DELIVERED: Scope.SHAREHOLDERS_READ,
    EventType.REGISTER_CHANGED: Scope.CAPTABLE_READ,
    EventType.TOKEN_PRICE_CHANGED: Scope.ISSUERS_READ,
    EventType.FINANCIAL_DATA_PUBLISHED: Scope.ISSUERS_READ,
    EventType.ARTICLE_PUBLISHED: None,
    EventType.GRANT_CHANGED: None,
    EventType.KEY_CHANGED: None,
    EventType.ORDER_ACCEPTED: Scope.TRADING_READ,
    EventType.ORDER_AMENDED: Scope.TRADING_READ,
    EventType.ORDER_TRADED: Scope.TRADING_READ,
    EventType.ORDER_CANCELLED: Scope.TRADING_READ,
    EventType.ORDER_EXPIRED: Scope.TRADING_READ,
    EventType.TRADE_BUSTED: Scope.TRADING_READ,
    EventType.TRADE_BUST_REQUESTED: Scope.TRADING_READ,
    EventType.CASH_CHANGED: Scope.CASH_READ,
    EventType.DEPOSIT_UNASSIGNED: Scope.CASH_READ,
    EventType.INVESTOR_CHANGED: Scope.COMPLIANCE_READ,
    EventType.MARKET_PHASE_CHANGED: Scope.MARKETDATA_READ,
    EventType.MARKET_PARAMETERS_CHANGED: Scope.MARKETDATA_READ,
    EventType.ORDER_ENDS_AT_OPENING: Scope.TRADING_READ,
    EventType.AUCTION_INDICATED: Scope.MARKETDATA_READ,
    EventType.ORDERS_BLOCKED: Scope.TRADING_READ,
    EventType.ORDERS_RELEASED: Scope.TRADING_READ,
    EventType.OFFERING_CHANGED: None,
    EventType.SUBSCRIPTION_CHANGED: Scope.TRADING_READ,
}
"""By type, the scope without which a key is not shown such events."""
OF_GRANTED_ISSUERS = [EventType.LEGACY_SHARES_DELIVERED, EventType.REGISTER_CHANGED]
OF_VISIBLE_TOKENS = [
    EventType.MARKET_PARAMETERS_CHANGED,
    EventType.AUCTION_INDICATED,
    EventType.MARKET_PHASE_CHANGED,
    EventType.OFFERING_CHANGED,
    EventType.TOKEN_PRICE_CHANGED,
]


def types_shown_to(caller: Caller) -> list[EventType]:
    return [t for t, s in NEEDED_SCOPES.items() if s is None or s in caller.scopes]


def shown_to(caller: Caller) -> Q:
    """The partner's events, or their counts, that scopes and grants allow it to see."""
    shown = Q(partner_id=caller.partner_id, type__in=types_shown_to(caller))
    if caller.granted_issuers is None:
        return shown
    granted = Q(issuer_id__in=caller.granted_issuers)
    tokens = Token.objects.visible_to(caller)
    return (
        shown
        & (~Q(type__in=OF_GRANTED_ISSUERS) | granted)
        & (~Q(type__in=OF_VISIBLE_TOKENS) | Q(token_id__in=tokens.values("pk")))
    )


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, caller: Caller) -> "EventQuerySet":
        """The partner's events that its present scopes and grants allow it to see."""
        return self.filter(shown_to(caller))

    def prune(self, advance: Callable[[int], object] = lambda done: None) -> int:
        """Delete events past retention, in committed batches; return their number.

        `advance` gets the size of each batch. A partner whose events are being numbered
        is skipped: no transaction waits.
        """
        return delete_in_batches(
            PRUNE, [settings.PARTNER_API_EVENT_DAYS, PRUNED_AT_ONCE], advance
        )


PRUNE = "SELECT events_prune(%s, %s)"


class Told(models.Model):
    """The details of an event in addition to its object: an order as it was then."""

    issuer_id = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    account_id = models.UUIDField(null=True)
    ledger_sequence = models.BigIntegerField(
        null=True, help_text="The last entry of the token's ledger in the commit."
    )
    order_event = models.BigIntegerField(
        null=True, help_text="Number of the event in the market's log of the token."
    )
    price = models.BigIntegerField(null=True, help_text="Euro cents.")
    quantity = models.BigIntegerField(null=True)
    remaining = models.BigIntegerField(null=True)
    trade = models.BigIntegerField(
        null=True, help_text="Number of the trade on the tape."
    )
    reason = models.CharField(max_length=20, null=True)

    class Meta:
        abstract = True


class Event(Told):
    """An event of a partner's feed; numbered from 1 without gaps, per partner.

    Its object may no longer exist: it refers to rows by their ids alone.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    partner = models.ForeignKey(
        Partner,
        models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    sequence = models.BigIntegerField()
    type = models.CharField(max_length=30, choices=EventType)
    at = models.DateTimeField(
        help_text="Time of the commit; never before that of an earlier event."
    )
    subject_id = models.UUIDField(null=True)

    objects = EventQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "sequence"], name="events_are_numbered_per_partner"
            )
        ]
        indexes = [
            models.Index(fields=["partner", "type", "sequence"], name="event_by_type"),
            models.Index(
                fields=["partner", "account_id", "sequence"],
                condition=Q(account_id__isnull=False),
                name="event_by_account",
            ),
        ]

    def __str__(self):
        return f"{self.sequence} {self.type}"


class EventHead(models.Model):
    """The last number of a partner's events; a writer must lock its row to number them.

    Events up to `pruned_sequence` are no longer kept.
    """

    partner = models.OneToOneField(
        Partner,
        models.DO_NOTHING,
        primary_key=True,
        related_name="+",
        db_constraint=False,
    )
    last_sequence = models.BigIntegerField(default=0)
    pruned_sequence = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(null=True)

    def __str__(self):
        return f"{self.partner_id} at {self.last_sequence}"


class EventCount(models.Model):
    """The number of a partner's events of a type, updated by numbering and pruning.

    Counts are separate for everything that decides whether a key may see the events:
    the issuer, if that takes a grant, and the token of a price.
    """

    partner = models.ForeignKey(
        Partner,
        models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    type = models.CharField(max_length=30, choices=EventType)
    issuer_id = models.UUIDField(null=True)
    token_id = models.UUIDField(null=True)
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["partner", "type", "issuer_id", "token_id"],
                name="events_are_counted_once",
                nulls_distinct=False,
            ),
            check("event_count_is_not_negative", Q(number__gte=0)),
        ]

    def __str__(self):
        return f"{self.number} {self.type}"


def number_of_events(caller: Caller, types: Sequence[EventType]) -> int:
    """The number of events of these types that the partner sees."""
    counts = EventCount.objects.filter(shown_to(caller), type__in=types)
    number: int = counts.aggregate(number=Coalesce(Sum("number"), 0))["number"]
    return number


def newest_events(partner_ids: Sequence[str]) -> dict[str, int]:
    """The number of the last event of each partner, 0 without any, by its id."""
    return dict(rows_of(NEWEST, [list(partner_ids)]))


NEWEST = """
    SELECT partner_id::text, last_sequence FROM issuers_eventhead
    WHERE partner_id = ANY (%s::uuid[])
"""


class UnnumberedEvent(Told):
    """A change by a transaction, until its commit: others never see the row.

    A commit may have several events about one order: `order_id` is the order, and
    `subject_id` distinguishes the events.
    """

    class Audience(models.TextChoices):
        PARTNER = "PARTNER", "One partner"
        GRANTED = "GRANTED", "Partners with a grant for the issuer"
        ALL = "ALL", "All partners"

    id = models.BigAutoField(primary_key=True)
    transaction = models.BigIntegerField()
    leads = models.BooleanField(
        help_text="Whether it is the first of its statement, which has the "
        "transaction's events numbered."
    )
    audience = models.CharField(max_length=7, choices=Audience)
    partner_id = models.UUIDField(null=True)
    type = models.CharField(max_length=30, choices=EventType)
    subject_id = models.UUIDField(null=True)
    order_id = models.UUIDField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["transaction", "type", "subject_id", "partner_id"],
                nulls_distinct=False,
                name="one_event_per_commit_and_subject",
            )
        ]

    def __str__(self):
        return f"{self.type} {self.subject_id}"


class ArticleToCome(models.Model):
    """An article with a future publication time, at which it becomes an event."""

    article_id = models.UUIDField(primary_key=True)
    published_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name_plural = "articles to come"

    def __str__(self):
        return f"{self.article_id} at {self.published_at}"


def announce_articles() -> int:
    """Write events for the articles that are now published; return their number."""
    return value_of("SELECT events_announce_articles()")

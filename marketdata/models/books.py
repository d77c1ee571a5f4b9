"""Order books of tokens on the secondary market: their logs and derived tables.

`marketdata.books.log` writes all of it. Changes and trades are numbered from 1, each
without gaps per token, in the writer's transaction. Levels and snapshots are derived.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from issuers.models import Token
from partnerapi.core.constraints import check


class Side(models.IntegerChoices):
    """The side of a level, as in MDEntryType (FIX tag 269)."""

    BID = 0, "Bid"
    ASK = 1, "Ask"


class OrderBookHead(models.Model):
    """The last numbers of a token's log; a writer locks them while appending.

    A token has one from the moment it comes to the secondary market. Its book is fed
    from outside until an internal market opens permanently.
    """

    class Source(models.TextChoices):
        EXTERNAL = "EXTERNAL", "Fed from outside"
        OWN = "OWN", "Internal market"

    token = models.OneToOneField(
        Token, models.CASCADE, primary_key=True, related_name="order_book_head"
    )
    last_sequence = models.BigIntegerField(default=0)
    last_trade = models.BigIntegerField(default=0)
    last_snapshot = models.BigIntegerField(
        default=0, help_text="Sequence of the newest snapshot."
    )
    last_at = models.DateTimeField(null=True)
    fingerprint = models.DecimalField(
        max_digits=30,
        decimal_places=0,
        db_default=0,
        help_text="Sum of the digests of all changes and trades; shows tampering.",
    )
    source = models.CharField(
        max_length=8, choices=Source, default=Source.EXTERNAL, db_default="EXTERNAL"
    )
    heard_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When its writer last confirmed that it follows its venue; none: "
        "never.",
    )

    def __str__(self):
        return f"{self.token} at {self.last_sequence}"


class BookChange(models.Model):
    """The new quantity of a price level; 0 removes the level."""

    pk = models.CompositePrimaryKey("token_id", "sequence")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="book_changes", db_index=False
    )
    sequence = models.BigIntegerField(help_text="From 1, without gaps, per token.")
    side = models.SmallIntegerField(choices=Side)
    price_cents = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    quantity = models.BigIntegerField(help_text="Units at this price afterwards.")
    ends_message = models.BooleanField(
        help_text="Whether a message ends here; within one, a book may be crossed."
    )
    at = models.DateTimeField()

    class Meta:
        constraints = [
            check("book_change_side_is_known", Q(side__in=[0, 1])),
            check("book_change_price_is_positive", Q(price_cents__gt=0)),
            check("book_change_quantity_is_not_negative", Q(quantity__gte=0)),
        ]

    def __str__(self):
        return f"{self.token} {self.sequence}"


class Trade(models.Model):
    """A trade of units; trades have their own numbers."""

    pk = models.CompositePrimaryKey("token_id", "sequence")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="trades", db_index=False
    )
    sequence = models.BigIntegerField(help_text="From 1, without gaps, per token.")
    price_cents = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    quantity = models.BigIntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            check("trade_price_is_positive", Q(price_cents__gt=0)),
            check("trade_quantity_is_positive", Q(quantity__gt=0)),
        ]

    def __str__(self):
        return f"{self.token} trade {self.sequence}"


class BookLevel(models.Model):
    """A level of a token's book after the log's last change; derived."""

    pk = models.CompositePrimaryKey("token_id", "side", "price_cents")
    token = models.ForeignKey(
        Token, models.CASCADE, related_name="book_levels", db_index=False
    )
    side = models.SmallIntegerField(choices=Side)
    price_cents = models.BigIntegerField()
    quantity = models.BigIntegerField()

    class Meta:
        constraints = [
            check("book_level_is_not_empty", Q(quantity__gt=0)),
        ]

    def __str__(self):
        return f"{self.token} {self.get_side_display()} {self.price_cents}"


class BookSnapshot(models.Model):
    """A whole book after a change that ended a message; derived.

    Prices and quantities stand in pairs, best price first.
    """

    pk = models.CompositePrimaryKey("token_id", "sequence")
    token = models.ForeignKey(
        Token, models.CASCADE, related_name="book_snapshots", db_index=False
    )
    sequence = models.BigIntegerField(help_text="The last change included.")
    trade_sequence = models.BigIntegerField(help_text="The last trade before it.")
    at = models.DateTimeField()
    bid_prices = ArrayField(models.BigIntegerField())
    bid_quantities = ArrayField(models.BigIntegerField())
    ask_prices = ArrayField(models.BigIntegerField())
    ask_quantities = ArrayField(models.BigIntegerField())
    fingerprint = models.DecimalField(
        max_digits=30,
        decimal_places=0,
        db_default=0,
        help_text="The head's fingerprint at that point.",
    )

    def __str__(self):
        return f"{self.token} as of {self.sequence}"

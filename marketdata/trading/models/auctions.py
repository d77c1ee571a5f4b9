"""Call auctions, and the fills that they bind."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from issuers.models import Token
from marketdata.trading.models.orders import Order
from marketdata.trading.ticks import Ticks
from partnerapi.core.constraints import check


class Auction(models.Model):
    """A call and the auction that ends it; `began` is the event that began the call.

    It ends at a drawn instant that stays secret until then: no query of the API selects
    `ends_at` before. Prices are euro cents, quantities units. `surplus` is how many
    more units are bid than offered at the price, below 0 where more are offered.

    Once `fills` is set, so many are listed in `AuctionFill` and bind: rules admitted
    them at `listed_at`, and are not judged when they settle. The first `settled` of
    them are executed, from `first_trade` on. `ended` is the event of the phase that
    followed.
    """

    pk = models.CompositePrimaryKey("token_id", "began")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="auctions", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    began = models.BigIntegerField()
    reference_price = models.BigIntegerField(help_text="Euro cents.")
    tick_cents = models.BigIntegerField()
    tick_floors = ArrayField(models.BigIntegerField())
    tick_steps = ArrayField(models.BigIntegerField())
    earliest_at = models.DateTimeField(help_text="The end that is announced.")
    ends_at = models.DateTimeField(help_text="The end that was drawn.")
    lowest = models.BigIntegerField(
        null=True, help_text="Of the bands outside which an order would have traded."
    )
    highest = models.BigIntegerField(null=True)
    indicative_price = models.BigIntegerField(null=True)
    indicative_quantity = models.BigIntegerField(null=True)
    indicative_surplus = models.BigIntegerField(null=True)
    indicated_event = models.BigIntegerField(
        null=True, help_text="Last event of the market that it takes into account."
    )
    price = models.BigIntegerField(null=True)
    quantity = models.BigIntegerField(null=True)
    surplus = models.BigIntegerField(null=True)
    fills = models.IntegerField(null=True)
    settled = models.IntegerField(default=0, db_default=0)
    first_event = models.BigIntegerField(null=True)
    first_trade = models.BigIntegerField(null=True)
    listed_at = models.DateTimeField(null=True)
    listed_entry = models.BigIntegerField(
        null=True, help_text="Last entry of the register when its fills were listed."
    )
    ended = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            check(
                "auction_ends_after_the_end_that_is_announced",
                Q(ends_at__gte=F("earliest_at")),
            ),
            check(
                "auction_settles_what_it_lists",
                Q(fills__isnull=True, settled=0)
                | Q(settled__gte=0, settled__lte=F("fills")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["ends_at"],
                condition=Q(ended__isnull=True),
                name="auctions_to_come",
            )
        ]

    def __str__(self):
        return f"Auction of {self.token} since event {self.began}"

    @property
    def ticks(self) -> Ticks:
        return Ticks(self.tick_cents, self.tick_floors, self.tick_steps)


class AuctionFill(models.Model):
    """Units that a buy order takes of a sell order; `place` is from 1, in order."""

    pk = models.CompositePrimaryKey("token_id", "began", "place")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    began = models.BigIntegerField()
    place = models.IntegerField()
    buy_order = models.ForeignKey(
        Order, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    sell_order = models.ForeignKey(
        Order, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    quantity = models.BigIntegerField()

    class Meta:
        constraints = [check("auction_fill_is_of_units", Q(quantity__gt=0))]

    def __str__(self):
        return f"{self.token_id} {self.began} {self.place}"

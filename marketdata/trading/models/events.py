"""Each market's log."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q

from issuers.models import Token
from marketdata.trading.models.markets import Phase
from marketdata.trading.models.orders import Order
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH


class OrderEvent(models.Model):
    """The market's log: numbered from 1 without gaps per token, and replayed.

    | Kind | price, quantity | filled, remaining, value |
    |---|---|---|
    | ORDER_ACCEPTED, ORDER_AMENDED | the order's limit and whole quantity | after it |
    | ORDER_TRADED, one for each side | the trade's | after it |
    | ORDER_CANCELLED, ORDER_EXPIRED | null | as before |
    | TRADE_BUSTED, one for each side | the trade's | null |
    | TRADE_CORRECTED, one for each side | those of the trade in its place | null |
    | PHASE_CHANGED | the reference price, null | null |

    `filled` and `remaining` are the order's units, `value` the euro cents that they
    cost; `priority` is the place that an order gets or keeps.
    """

    class Kind(models.TextChoices):
        ORDER_ACCEPTED = "ORDER_ACCEPTED", "Order accepted"
        ORDER_AMENDED = "ORDER_AMENDED", "Order amended"
        ORDER_TRADED = "ORDER_TRADED", "Order traded"
        ORDER_CANCELLED = "ORDER_CANCELLED", "Order cancelled"
        ORDER_EXPIRED = "ORDER_EXPIRED", "Order expired"
        TRADE_BUSTED = "TRADE_BUSTED", "Trade busted"
        TRADE_CORRECTED = "TRADE_CORRECTED", "Trade corrected"
        PHASE_CHANGED = "PHASE_CHANGED", "Phase changed"

    pk = models.CompositePrimaryKey("token_id", "number")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="order_events", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    number = models.BigIntegerField(help_text="From 1, without gaps, per token.")
    kind = models.CharField(max_length=15, choices=Kind)
    order = models.ForeignKey(
        Order, models.PROTECT, null=True, related_name="events", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    price = models.BigIntegerField(null=True)
    quantity = models.BigIntegerField(null=True)
    filled = models.BigIntegerField(null=True)
    remaining = models.BigIntegerField(null=True)
    value = models.BigIntegerField(null=True)
    priority = models.BigIntegerField(null=True)
    trade = models.BigIntegerField(
        null=True, help_text="Number of the trade on the tape."
    )
    phase = models.CharField(max_length=10, choices=Phase, null=True)
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    actor = models.CharField(max_length=ACTOR_LENGTH)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            check(
                "order_event_is_of_an_order_or_a_phase",
                Q(kind="PHASE_CHANGED", order__isnull=True, phase__isnull=False)
                | Q(
                    kind__in=[
                        "ORDER_ACCEPTED",
                        "ORDER_AMENDED",
                        "ORDER_TRADED",
                        "ORDER_CANCELLED",
                        "ORDER_EXPIRED",
                        "TRADE_BUSTED",
                        "TRADE_CORRECTED",
                    ],
                    order__isnull=False,
                    phase__isnull=True,
                ),
            ),
        ]
        indexes = [
            models.Index(
                fields=["order", "number"],
                condition=Q(order__isnull=False),
                name="order_event_of_order",
            ),
            models.Index(
                fields=["token", "number"],
                condition=Q(order__isnull=True),
                name="order_event_of_phase",
            ),
            # The events of a day: of all markets, they lie where they were written.
            BrinIndex(fields=["at"], name="order_event_by_time"),
        ]

    def __str__(self):
        return f"{self.token} event {self.number}: {self.kind}"

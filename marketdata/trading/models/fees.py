"""Tariffs of markets, and what orders and executions pay by them."""

from django.db import models
from django.db.models import F, Q

from accounts.keys.models import Partner
from issuers.models import Token
from marketdata.trading.fees import OrderFees, Terms
from marketdata.trading.models.orders import Order, OrderSide
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH


class Tariff(models.Model):
    """What orders of a market pay from an instant on: all, or those of a partner.

    An order keeps the tariff of its acceptance, a partner's own before the market's. A
    row ends, once, and never changes otherwise.
    """

    id = models.BigAutoField(primary_key=True, editable=False)
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="tariffs", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    partner = models.ForeignKey(
        Partner, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False, help_text="Empty: all that have none of their own.",
    )  # fmt: skip
    maker_bps = models.IntegerField(help_text="Basis points of the value traded.")
    taker_bps = models.IntegerField(help_text="Basis points of the value traded.")
    minimum = models.BigIntegerField(
        help_text="Euro cents of an order, once it has traded."
    )
    maximum = models.BigIntegerField(
        null=True, help_text="Euro cents of an order; empty: no maximum."
    )
    vat_bps = models.IntegerField(help_text="Value added tax, basis points of the fee.")
    valid_from = models.DateTimeField()
    replaces = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="replaced_by",
        db_constraint=False,
    )  # fmt: skip
    reason = models.CharField(max_length=REASON_LENGTH)
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    approved_by = models.CharField(max_length=ACTOR_LENGTH)
    created_at = models.DateTimeField()
    ended_by = models.CharField(max_length=ACTOR_LENGTH, blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            check(
                "tariff_rates_are_within_the_value",
                Q(
                    maker_bps__gte=0,
                    maker_bps__lte=10_000,
                    taker_bps__gte=0,
                    taker_bps__lte=10_000,
                    vat_bps__gte=0,
                    vat_bps__lte=10_000,
                ),
            ),
            check(
                "tariff_minimum_is_within_its_maximum",
                Q(minimum__gte=0)
                & (Q(maximum__isnull=True) | Q(maximum__gte=F("minimum"))),
            ),
            check(
                "tariff_ends_after_it_begins",
                Q(ended_at__isnull=True) | Q(ended_at__gte=F("valid_from")),
            ),
            models.UniqueConstraint(
                fields=["token", "partner"],
                condition=Q(ended_at__isnull=True),
                nulls_distinct=False,
                name="tariff_without_an_end_is_one",
            ),
        ]
        indexes = [
            models.Index(fields=["token", "partner", "valid_from"], name="tariffs")
        ]

    def __str__(self):
        of = f" for {self.partner}" if self.partner_id else ""
        return f"Tariff of {self.token}{of}"

    @property
    def terms(self) -> Terms:
        return Terms(
            self.maker_bps, self.taker_bps, self.minimum, self.maximum, self.vat_bps
        )


class OrderFee(models.Model):
    """The fees of an order that was accepted under a tariff, so far; cents, with tax.

    Trades that were busted do not count. `reserved` is what a buy holds for fees beside
    its limit times its open units.
    """

    order = models.OneToOneField(
        Order, models.PROTECT, primary_key=True, related_name="fee",
        db_constraint=False,
    )  # fmt: skip
    tariff = models.ForeignKey(
        Tariff, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    maker_value = models.BigIntegerField(help_text="Value of its fills as maker.")
    taker_value = models.BigIntegerField(help_text="Value of its fills as taker.")
    paid = models.BigIntegerField()
    reserved = models.BigIntegerField()

    def __str__(self):
        return str(self.order_id)

    @property
    def so_far(self) -> OrderFees:
        return OrderFees(
            self.tariff.terms,
            self.maker_value,
            self.taker_value,
            self.paid,
            self.reserved,
        )


class ExecutionFee(models.Model):
    """What a side of an execution paid, or got back with its bust (negative)."""

    pk = models.CompositePrimaryKey("token_id", "sequence", "side", "is_refund")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    sequence = models.BigIntegerField(help_text="Number of the trade.")
    side = models.SmallIntegerField(choices=OrderSide)
    is_refund = models.BooleanField()
    net = models.BigIntegerField(help_text="Euro cents.")
    vat = models.BigIntegerField(help_text="Value added tax, euro cents.")
    cash_transaction = models.BigIntegerField(unique=True)

    class Meta:
        constraints = [
            check(
                "execution_fee_is_paid_or_comes_back",
                Q(is_refund=False, net__gte=0, vat__gte=0)
                | Q(is_refund=True, net__lte=0, vat__lte=0),
            )
        ]

    def __str__(self):
        return f"{self.token_id} {self.sequence} {self.side}"

"""Trades of two orders, and those that were busted."""

from django.db import models
from django.db.models import Q

from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading.fees import NO_FEE, Fee
from marketdata.trading.models.orders import Order, OrderSide
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH


class Execution(models.Model):
    """A trade of two orders, settled: the tape's trade of the same number.

    `ledger_seq` is the entry that moved the units, `cash_transaction` the payment.
    """

    pk = models.CompositePrimaryKey("token_id", "sequence")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="executions", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    sequence = models.BigIntegerField(help_text="Number of the trade on the tape.")
    buy_order = models.ForeignKey(
        Order, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    sell_order = models.ForeignKey(
        Order, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    # The orders'.
    buyer_account = models.ForeignKey(
        Account, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    seller_account = models.ForeignKey(
        Account, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    price = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    quantity = models.BigIntegerField()
    aggressor = models.SmallIntegerField(
        choices=OrderSide,
        null=True,
        help_text="Side of the incoming order; null: an auction.",
    )
    ledger_seq = models.BigIntegerField()
    cash_transaction = models.BigIntegerField()
    event = models.BigIntegerField(help_text="Event of the incoming order.")
    at = models.DateTimeField()
    corrects = models.BigIntegerField(
        null=True, help_text="The busted trade in whose place it was entered."
    )

    fees: tuple[Fee, Fee] = NO_FEE, NO_FEE
    """Of the buyer and the seller, while the writer has it."""

    class Meta:
        constraints = [
            check("execution_is_of_units_at_a_price", Q(price__gt=0, quantity__gt=0)),
            check(
                "execution_aggressor_is_known",
                Q(aggressor__isnull=True) | Q(aggressor__in=[0, 1]),
            ),
            models.UniqueConstraint(
                fields=["token", "ledger_seq"], name="execution_has_its_own_entry"
            ),
            models.UniqueConstraint(
                fields=["cash_transaction"], name="execution_has_its_own_payment"
            ),
        ]
        indexes = [
            models.Index(fields=["at", "sequence", "token"], name="execution_by_time"),
            models.Index(fields=["buy_order", "sequence"], name="execution_of_buy"),
            models.Index(fields=["sell_order", "sequence"], name="execution_of_sell"),
            models.Index(
                fields=["buyer_account", "at", "sequence", "token"],
                name="execution_list_of_buyer",
            ),
            models.Index(
                fields=["seller_account", "at", "sequence", "token"],
                name="execution_list_of_seller",
            ),
        ]

    def __str__(self):
        return f"{self.token} execution {self.sequence}"


class Bust(models.Model):
    """A trade that was undone, with the entry and the payment that went back."""

    pk = models.CompositePrimaryKey("token_id", "sequence")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="busts", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    sequence = models.BigIntegerField(help_text="Number of the trade.")
    ledger_seq = models.BigIntegerField()
    cash_transaction = models.BigIntegerField(unique=True)
    reason = models.CharField(max_length=REASON_LENGTH)
    requested_by = models.CharField(max_length=ACTOR_LENGTH)
    approved_by = models.CharField(max_length=ACTOR_LENGTH)
    event = models.BigIntegerField(
        help_text="Event of the buyer; the seller's follows it."
    )
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "ledger_seq"], name="bust_has_its_own_entry"
            ),
        ]
        indexes = [models.Index(fields=["at"], name="bust_by_time")]

    def __str__(self):
        return f"{self.token} bust of trade {self.sequence}"

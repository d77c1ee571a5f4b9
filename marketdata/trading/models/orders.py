"""Orders of clients."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import uuid_utils.compat as uuid
from django.db import models
from django.db.models import F, Q
from django.db.models.base import ModelState

from accounts.accounts.models import Account
from accounts.cash.models import CashAccount
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import Token
from issuers.register.models import LedgerAccount
from marketdata.trading.in_force import OrderStatusReason, TimeInForce
from partnerapi.core.constraints import check

Row = TypeVar("Row", bound=models.Model)


def row_of(model: type[Row], values: Mapping[str, Any]) -> Row:
    """An object with a value for every column; nothing saves it.

    The constructor of a model takes ten times as long, for each order of a list.
    """
    row = model.__new__(model)
    row.__dict__.update(values, _state=ModelState())
    return row


class OrderSide(models.IntegerChoices):
    """Where an order rests, as the side of a level of the book."""

    BUY = 0, "Buy"
    SELL = 1, "Sell"


class OrderStatus(models.TextChoices):
    OPEN = "OPEN", "Open"
    FILLED = "FILLED", "Filled"
    CANCELLED = "CANCELLED", "Cancelled"
    EXPIRED = "EXPIRED", "Expired"


class Order(models.Model):
    """An order of a client (`user`). All but the first columns are derived from it.

    The remaining units are `quantity` minus `filled`. `priority` is the number of the
    event that gave the order its place, `last_event` the number of its last event.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid7, editable=False)
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="orders", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    account = models.ForeignKey(
        Account, models.PROTECT, related_name="orders", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    # The account's.
    user = models.ForeignKey(
        User, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    ledger_account = models.ForeignKey(
        LedgerAccount, models.PROTECT, related_name="+", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    cash_account = models.ForeignKey(
        CashAccount,
        models.PROTECT,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="orders", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    side = models.SmallIntegerField(choices=OrderSide)
    limit_price = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    quantity = models.BigIntegerField(help_text="Units, including those filled.")
    filled = models.BigIntegerField(default=0)
    filled_value = models.BigIntegerField(default=0, help_text="Euro cents.")
    time_in_force = models.CharField(
        max_length=3, choices=[(each.value, each.label) for each in TimeInForce]
    )
    expires_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=9, choices=OrderStatus)
    status_reason = models.CharField(
        max_length=20,
        choices=[(each.value, each.label) for each in OrderStatusReason],
        null=True,
    )
    priority = models.BigIntegerField()
    version = models.IntegerField(default=1)
    last_event = models.BigIntegerField()
    client_order_id = models.CharField(max_length=64, null=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            check("order_side_is_known", Q(side__in=[0, 1])),
            check(
                "order_price_and_quantity_are_positive",
                Q(limit_price__gt=0, quantity__gt=0),
            ),
            check(
                "order_is_filled_within_its_quantity",
                Q(filled__gte=0, filled__lte=F("quantity")),
            ),
            check(
                "order_is_filled_when_all_of_it_is",
                Q(status="FILLED", filled=F("quantity"))
                | Q(status__in=["OPEN", "CANCELLED", "EXPIRED"])
                & Q(filled__lt=F("quantity")),
            ),
            check(
                "order_that_ended_early_says_why",
                Q(status__in=["OPEN", "FILLED"], status_reason__isnull=True)
                | Q(status__in=["CANCELLED", "EXPIRED"], status_reason__isnull=False),
            ),
            check(
                "order_rests_until_it_expires",
                Q(
                    time_in_force__in=[t.value for t in TimeInForce if not t.rests],
                    expires_at__isnull=True,
                )
                & ~Q(status__in=["OPEN", "EXPIRED"])
                | Q(
                    time_in_force__in=[t.value for t in TimeInForce if t.rests],
                    expires_at__isnull=False,
                ),
            ),
            models.UniqueConstraint(
                fields=["account", "client_order_id"],
                name="client_order_id_is_used_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["token", "side", "limit_price", "priority"],
                condition=Q(status="OPEN"),
                name="order_queues",
            ),
            models.Index(
                fields=["account", "token"],
                condition=Q(status="OPEN"),
                name="order_open_of_account",
            ),
            models.Index(
                fields=["user"],
                condition=Q(status="OPEN"),
                name="order_open_of_user",
            ),
            models.Index(
                fields=["expires_at"],
                condition=Q(status="OPEN"),
                name="order_expiry",
            ),
            models.Index(
                fields=["account", "created_at", "id"], name="order_list_of_account"
            ),
            models.Index(
                fields=["partner", "created_at", "id"], name="order_list_of_partner"
            ),
            models.Index(
                fields=["partner", "status", "created_at", "id"],
                name="order_list_by_status",
            ),
            models.Index(
                fields=["client_order_id"],
                condition=Q(client_order_id__isnull=False),
                name="order_by_client_order_id",
            ),
            models.Index(
                fields=["partner", "token", "created_at", "id"],
                name="order_list_of_token",
            ),
        ]

    def __str__(self):
        return str(self.pk)

    @property
    def remaining(self) -> int:
        return self.quantity - self.filled

    def is_over(self, at: datetime) -> bool:
        """Whether it has expired, even if it was not ended yet."""
        return self.expires_at is not None and self.expires_at <= at

"""What stops orders: blocks, timers that cancel, and the orders that were refused."""

from django.db import models
from django.db.models import Q

from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Token
from marketdata.trading.models.orders import Order, OrderSide
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH

CODE_LENGTH = 50


class OrderBlock(models.Model):
    """While it stands, no order is taken from a partner, an account or all partners.

    A partner's own may be of an account, of a token or of both. Staff's are of one
    partner, of one account, or of everything; two people release them.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, null=True, related_name="order_blocks",
        db_constraint=False, help_text="Empty: all partners.",
    )  # fmt: skip
    account = models.ForeignKey(
        Account, models.PROTECT, null=True, related_name="order_blocks",
        db_index=False, db_constraint=False,
    )  # fmt: skip
    token = models.ForeignKey(
        Token, models.PROTECT, null=True, related_name="order_blocks", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    is_staff = models.BooleanField(help_text="Whether staff blocked it.")
    reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    blocked_by = models.CharField(max_length=ACTOR_LENGTH)
    blocked_at = models.DateTimeField()
    released_by = models.CharField(max_length=ACTOR_LENGTH, null=True)
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            check(
                "order_block_is_of_a_partner_or_by_staff",
                Q(partner__isnull=False)
                | Q(is_staff=True, account__isnull=True, token__isnull=True),
            ),
            check(
                "order_block_names_who_released_it",
                Q(released_at__isnull=True, released_by__isnull=True)
                | Q(released_at__isnull=False, released_by__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["partner", "account", "token", "is_staff"],
                condition=Q(released_at__isnull=True),
                nulls_distinct=False,
                name="order_block_stands_once",
            ),
        ]

    def __str__(self):
        of = self.account or self.partner or "all partners"
        return f"Block of {of}"


class CancelTimer(models.Model):
    """When all orders of a partner are cancelled, unless it renews the timer before.

    `fired_at` is when they last were.
    """

    partner = models.OneToOneField(
        Partner, models.PROTECT, primary_key=True, related_name="+",
        db_constraint=False,
    )  # fmt: skip
    fires_at = models.DateTimeField(null=True, db_index=True)
    fired_at = models.DateTimeField(null=True)

    def __str__(self):
        return f"Timer of {self.partner}"


class RefusedOrder(models.Model):
    """An order, or an amendment of `order`, that was refused, as it was sent.

    `number` is how many it stands for: where a partner has many refused in a minute,
    one row counts those of a code, and has the beginning of that minute and no order.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    partner = models.ForeignKey(
        Partner, models.PROTECT, related_name="refused_orders", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    at = models.DateTimeField(db_index=True)
    code = models.CharField(max_length=CODE_LENGTH)
    number = models.BigIntegerField()
    message = models.CharField(max_length=REASON_LENGTH, null=True)
    account = models.ForeignKey(
        Account, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    token = models.ForeignKey(
        Token, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    order = models.ForeignKey(
        Order, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    side = models.SmallIntegerField(choices=OrderSide, null=True)
    quantity = models.DecimalField(max_digits=20, decimal_places=0, null=True)
    limit_price = models.DecimalField(
        max_digits=20, decimal_places=0, null=True, help_text="Euro cents."
    )
    time_in_force = models.CharField(max_length=3, null=True)
    client_order_id = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [
            check("refused_order_stands_for_some", Q(number__gt=0)),
            models.UniqueConstraint(
                fields=["partner", "at", "code"],
                condition=Q(account__isnull=True),
                name="refused_orders_are_counted_once",
            ),
        ]
        indexes = [
            models.Index(fields=["partner", "at", "id"], name="refused_order_list")
        ]

    def __str__(self):
        return f"{self.code} at {self.at}"

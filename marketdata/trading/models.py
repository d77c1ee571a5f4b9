"""Internal markets: their phases, orders and executions, and each market's log.

`market` writes orders, executions and events, a whole request in one transaction.
`busts` writes the events that bust a trade. Functions of the owner write every row.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import uuid_utils.compat as uuid
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.base import ModelState

from accounts.accounts.models import Account
from accounts.cash.models import CashAccount
from accounts.keys.models import Partner
from accounts.people.models import User
from issuers.models import Token
from issuers.register.models import LedgerAccount
from marketdata.trading.fees import NO_FEE, Fee
from marketdata.trading.in_force import OrderStatusReason, TimeInForce
from marketdata.trading.sessions import Session
from partnerapi.core.constraints import check

REASON_LENGTH = 500
ACTOR_LENGTH = 254
CODE_LENGTH = 50
Row = TypeVar("Row", bound=models.Model)


def row_of(model: type[Row], values: Mapping[str, Any]) -> Row:
    """An object with a value for every column; nothing saves it.

    The constructor of a model takes ten times as long, for each order of a list.
    """
    row = model.__new__(model)
    row.__dict__.update(values, _state=ModelState())
    return row


class Phase(models.TextChoices):
    """CALL is reserved for auctions, which are not available yet."""

    CLOSED = "CLOSED", "Closed"
    CALL = "CALL", "Call"
    CONTINUOUS = "CONTINUOUS", "Continuous"
    HALTED = "HALTED", "Halted"


class OrderSide(models.IntegerChoices):
    """Where an order rests, as the side of a level of the book."""

    BUY = 0, "Buy"
    SELL = 1, "Sell"


class OrderStatus(models.TextChoices):
    OPEN = "OPEN", "Open"
    FILLED = "FILLED", "Filled"
    CANCELLED = "CANCELLED", "Cancelled"
    EXPIRED = "EXPIRED", "Expired"


class Market(models.Model):
    """The internal market of a token.

    `phase`, `last_event` and `last_at` follow from the market's log. Session times are
    those of MARKET_TIME_ZONE; a session that opens when it closes lasts all day.
    """

    token = models.OneToOneField(
        Token, models.PROTECT, primary_key=True, related_name="market"
    )
    phase = models.CharField(max_length=10, choices=Phase)
    phase_since = models.DateTimeField()
    next_phase = models.CharField(max_length=10, choices=Phase, null=True)
    next_phase_at = models.DateTimeField(null=True)
    session_opens = models.TimeField()
    session_closes = models.TimeField()
    weekdays_only = models.BooleanField()
    tick_cents = models.BigIntegerField(help_text="Prices are multiples of it.")
    lot_units = models.BigIntegerField(help_text="Quantities are multiples of it.")
    collar_bps = models.IntegerField(
        help_text="Largest distance of a limit from the reference price, in basis "
        "points."
    )
    reference_price = models.BigIntegerField(null=True, help_text="Euro cents.")
    last_event = models.BigIntegerField(default=0)
    last_phase_event = models.BigIntegerField(default=0)
    last_at = models.DateTimeField(help_text="Time of the last event.")
    halt_reason = models.CharField(max_length=REASON_LENGTH, blank=True)
    fees_account = models.ForeignKey(
        CashAccount, models.PROTECT, null=True, related_name="+", db_index=False,
        db_constraint=False, help_text="Null before its first tariff.",
    )  # fmt: skip

    class Meta:
        constraints = [
            check(
                "market_phase_is_known", Q(phase__in=["CLOSED", "CONTINUOUS", "HALTED"])
            ),
            check(
                "market_tick_and_lot_are_positive", Q(tick_cents__gt=0, lot_units__gt=0)
            ),
            check(
                "market_collar_is_below_the_price",
                Q(collar_bps__gt=0, collar_bps__lt=10_000),
            ),
            check(
                "market_trades_around_a_reference_price",
                ~Q(phase="CONTINUOUS") | Q(reference_price__gt=0),
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_phase_at"],
                condition=Q(next_phase_at__isnull=False),
                name="market_phases_to_come",
            )
        ]

    def __str__(self):
        return f"Market of {self.token}"

    @property
    def session(self) -> Session:
        return Session(self.session_opens, self.session_closes, self.weekdays_only)


class ClockLease(models.Model):
    """Which process moves the markets, until when by the database's clock."""

    id = models.SmallIntegerField(primary_key=True)
    holder = models.CharField(max_length=300, help_text="Its host and its process.")
    since = models.DateTimeField(help_text="When the holder took it.")
    until = models.DateTimeField()

    class Meta:
        constraints = [check("clock_lease_is_one", Q(id=1))]

    def __str__(self):
        return self.holder


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
        "Order", models.PROTECT, null=True, related_name="+", db_index=False,
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

    def __str__(self):
        return f"{self.token} bust of trade {self.sequence}"


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


class OrderEvent(models.Model):
    """The market's log: numbered from 1 without gaps per token, and replayed.

    | Kind | price, quantity | filled, remaining, value |
    |---|---|---|
    | ORDER_ACCEPTED, ORDER_AMENDED | the order's limit and whole quantity | after it |
    | ORDER_TRADED, one for each side | the trade's | after it |
    | ORDER_CANCELLED, ORDER_EXPIRED | null | as before |
    | TRADE_BUSTED, one for each side | the trade's | null |
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

"""Markets with their phases, and the lease of the clock that moves them."""

from django.db import models
from django.db.models import Q

from accounts.cash.models import CashAccount
from issuers.models import Token
from marketdata.trading.models.parameters import Parameters
from partnerapi.core.constraints import check
from partnerapi.core.lengths import REASON_LENGTH


class Phase(models.TextChoices):
    """In a CALL orders are collected, and trade at one price at its end. AT_LAST orders
    trade at that price, which is the reference price.
    """

    CLOSED = "CLOSED", "Closed"
    CALL = "CALL", "Call"
    AT_LAST = "AT_LAST", "Trading at last"
    CONTINUOUS = "CONTINUOUS", "Continuous"
    HALTED = "HALTED", "Halted"


class Market(Parameters):
    """The internal market of a token, with its parameters in force.

    `phase`, `last_event` and `last_at` follow from the market's log. The parameters are
    those of the last MarketParameters that have begun, or that open a closed market:
    every order reads them with the market, and `trading_apply_parameters` alone copies
    them.

    From the beginning of a call to its auction a market does not show its book: open
    orders may cross, and the log of the book has no levels.
    """

    token = models.OneToOneField(
        Token, models.PROTECT, primary_key=True, related_name="market"
    )
    phase = models.CharField(max_length=10, choices=Phase)
    phase_since = models.DateTimeField()
    next_phase = models.CharField(max_length=10, choices=Phase, null=True)
    next_phase_at = models.DateTimeField(null=True)
    reference_price = models.BigIntegerField(null=True, help_text="Euro cents.")
    last_price = models.BigIntegerField(
        null=True, help_text="Of the last trade, euro cents; null: the reference price."
    )
    shows_book = models.BooleanField(default=True, db_default=True)
    session_ends_at = models.DateTimeField(
        null=True, help_text="While it accepts orders: when those of the day end."
    )
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
                "market_phase_is_known",
                Q(phase__in=["CLOSED", "CALL", "AT_LAST", "CONTINUOUS", "HALTED"]),
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
            check(
                "market_trades_continuously_by_a_book_that_it_shows",
                ~Q(phase="CONTINUOUS") | Q(shows_book=True),
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

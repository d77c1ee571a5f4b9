"""The parameters of markets: what orders are judged by, and when a market trades."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from issuers.models import Token
from marketdata.trading.sessions import Session
from marketdata.trading.ticks import Ticks
from partnerapi.core.constraints import check
from partnerapi.core.lengths import ACTOR_LENGTH, REASON_LENGTH

MOST_AT_LAST = 60
"""Minutes."""


class TradingModel(models.TextChoices):
    CONTINUOUS = "CONTINUOUS", "Continuous"
    FIXING = "FIXING", "Fixings"
    BOTH = "BOTH", "Continuous with fixings"


class Parameters(models.Model):
    """Times are those of MARKET_TIME_ZONE; a session that opens when it closes lasts
    all day. A day without a session is a holiday, or a weekend where `weekdays_only`.
    """

    session_opens = models.TimeField()
    session_closes = models.TimeField()
    weekdays_only = models.BooleanField()
    holidays = ArrayField(models.DateField(), default=list, db_default=[])
    tick_cents = models.BigIntegerField(
        help_text="Prices are multiples of it, below the first of the floors."
    )
    tick_floors = ArrayField(
        models.BigIntegerField(), default=list, db_default=[],
        help_text="Prices in euro cents, from which other ticks hold.",
    )  # fmt: skip
    tick_steps = ArrayField(
        models.BigIntegerField(), default=list, db_default=[],
        help_text="The tick from each of the floors on.",
    )  # fmt: skip
    lot_units = models.BigIntegerField(help_text="Quantities are multiples of it.")
    collar_bps = models.IntegerField(
        help_text="Static band: largest distance of a limit or a price from the "
        "reference price, in basis points."
    )
    dynamic_band_bps = models.IntegerField(
        default=1_000, db_default=1_000,
        help_text="Dynamic band: largest distance of a price from the last one, in "
        "basis points.",
    )  # fmt: skip
    model = models.CharField(
        max_length=10, choices=TradingModel, default=TradingModel.CONTINUOUS,
        db_default=TradingModel.CONTINUOUS,
    )  # fmt: skip
    fixings = ArrayField(
        models.TimeField(), default=list, db_default=[],
        help_text="Times of day at which calls end.",
    )  # fmt: skip
    at_last_minutes = models.IntegerField(
        default=0, db_default=0,
        help_text="How long orders trade at the price of a fixing after it.",
    )  # fmt: skip
    most_value = models.BigIntegerField(
        null=True, help_text="Euro cents of an order at its limit; empty: no maximum."
    )
    most_units = models.BigIntegerField(
        null=True, help_text="Units of an order; empty: no maximum."
    )

    class Meta:
        abstract = True

    @property
    def session(self) -> Session:
        return Session(
            self.session_opens,
            self.session_closes,
            self.weekdays_only,
            frozenset(self.holidays),
        )

    @property
    def ticks(self) -> Ticks:
        return Ticks(self.tick_cents, self.tick_floors, self.tick_steps)

    @property
    def terms(self) -> dict[str, Any]:
        """Its parameters as JSON, by name."""
        found = {field: getattr(self, field) for field in PARAMETERS}
        for field in ("session_opens", "session_closes"):
            found[field] = found[field].isoformat()
        for field in ("holidays", "fixings"):
            found[field] = [one.isoformat() for one in found[field]]
        return found


PARAMETERS = [field.name for field in Parameters._meta.local_fields]


class MarketParameters(Parameters):
    """The parameters of a market from an instant on, until a later row's.

    The instant is the end of the session in which they were approved, or that of the
    approval outside of a session: orders are judged by them from the next opening on.
    A row never changes, except that it is announced once, before that opening.
    """

    id = models.BigAutoField(primary_key=True, editable=False)
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="parameters", db_index=False,
        db_constraint=False,
    )  # fmt: skip
    valid_from = models.DateTimeField()
    opens_at = models.DateTimeField(help_text="The first opening by them.")
    announced_at = models.DateTimeField(
        null=True, help_text="When partners learned which orders end."
    )
    replaces = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="replaced_by",
        db_constraint=False,
    )  # fmt: skip
    reason = models.CharField(max_length=REASON_LENGTH)
    created_by = models.CharField(max_length=ACTOR_LENGTH)
    approved_by = models.CharField(max_length=ACTOR_LENGTH)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "market parameters"
        constraints = [
            check(
                "market_parameters_are_positive",
                Q(tick_cents__gt=0, lot_units__gt=0)
                & (Q(most_value__isnull=True) | Q(most_value__gt=0))
                & (Q(most_units__isnull=True) | Q(most_units__gte=F("lot_units"))),
            ),
            check(
                "market_bands_are_below_the_price",
                Q(
                    collar_bps__gt=0,
                    collar_bps__lt=10_000,
                    dynamic_band_bps__gt=0,
                    dynamic_band_bps__lt=10_000,
                ),
            ),
            check(
                "market_fixings_are_of_its_model",
                Q(model="CONTINUOUS", fixings=[])
                | Q(model__in=["FIXING", "BOTH"]) & ~Q(fixings=[]),
            ),
            check(
                "market_trades_at_last_after_fixings",
                Q(at_last_minutes=0)
                | ~Q(model="CONTINUOUS")
                & Q(at_last_minutes__gte=1, at_last_minutes__lte=MOST_AT_LAST),
            ),
            check(
                "market_parameters_begin_before_an_opening",
                Q(created_at__lte=F("valid_from"), opens_at__gte=F("valid_from")),
            ),
        ]
        indexes = [
            models.Index(
                fields=["token", "valid_from", "id"], name="market_parameters"
            ),
            models.Index(
                fields=["token"], condition=Q(announced_at__isnull=True),
                name="market_parameters_to_announce",
            ),
        ]  # fmt: skip

    def __str__(self):
        return f"Parameters of {self.token} from {self.valid_from:%Y-%m-%d %H:%M}"

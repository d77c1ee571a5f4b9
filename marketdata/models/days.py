"""The figures of each token's trading days, derived from its trades."""

from django.db import models

from issuers.models import Token


class TradingDay(models.Model):
    """A day on which a token was traded; derived from trades and busts.

    The day is the calendar day in MARKET_TIME_ZONE. The first migration made this
    setting the function market_time_zone().
    """

    pk = models.CompositePrimaryKey("token_id", "first_trade")
    token = models.ForeignKey(
        Token, models.PROTECT, related_name="trading_days", db_index=False
    )
    day = models.DateField()
    open_cents = models.BigIntegerField(help_text="Price of the first trade.")
    high_cents = models.BigIntegerField()
    low_cents = models.BigIntegerField()
    close_cents = models.BigIntegerField(help_text="Price of the last trade.")
    volume = models.DecimalField(
        max_digits=30, decimal_places=0, help_text="Units that changed hands."
    )
    value_cents = models.DecimalField(
        max_digits=50, decimal_places=0, help_text="Sum of price times units."
    )
    trades = models.BigIntegerField()
    first_trade = models.BigIntegerField(help_text="Number of the first trade.")
    last_trade = models.BigIntegerField(help_text="Number of the last trade.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["token", "day"], name="trading_day_is_kept_once"
            ),
        ]

    def __str__(self):
        return f"{self.token} on {self.day}"

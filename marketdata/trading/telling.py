"""What partners read about trading outside the market's own tables."""

from django.db import models

from accounts.accounts.models import Account
from issuers.models import Token
from marketdata.trading.models import Order, OrderSide
from partnerapi.core.database import value_of


class Fill(models.Model):
    """An execution from one of its two sides; a view.

    `id` is derived from the token, the trade's number and the side.
    """

    id = models.UUIDField(primary_key=True)
    token = models.ForeignKey(Token, models.DO_NOTHING, related_name="+")
    sequence = models.BigIntegerField(help_text="Number of the trade on the tape.")
    side = models.SmallIntegerField(choices=OrderSide)
    order = models.ForeignKey(Order, models.DO_NOTHING, related_name="+")
    account = models.ForeignKey(Account, models.DO_NOTHING, related_name="+")
    price = models.BigIntegerField(help_text="Price of a unit, euro cents.")
    quantity = models.BigIntegerField()
    value = models.BigIntegerField(help_text="Euro cents.")
    liquidity = models.CharField(max_length=7)
    ledger_seq = models.BigIntegerField()
    at = models.DateTimeField()
    busted_at = models.DateTimeField(null=True)
    fee_net = models.BigIntegerField(help_text="Euro cents.")
    fee_vat = models.BigIntegerField(help_text="Euro cents.")

    class Meta:
        app_label = "trading"
        managed = False
        db_table = "trading_fill"

    def __str__(self):
        return f"{self.token_id} {self.sequence} {self.side}"


class RegisterTold(models.Model):
    """The last entry whose change of a token's register was reported to partners."""

    token = models.OneToOneField(
        Token,
        models.DO_NOTHING,
        primary_key=True,
        related_name="+",
        db_constraint=False,
    )
    ledger_seq = models.BigIntegerField()

    class Meta:
        app_label = "trading"

    def __str__(self):
        return f"{self.token_id} up to {self.ledger_seq}"


def tell_registers() -> int:
    """Report registers changed by trades to partners; return their number."""
    return value_of("SELECT trading_tell_registers()")

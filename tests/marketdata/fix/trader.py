"""A partner whose clients trade, and whose orders a drop copy reports."""

from dataclasses import dataclass

from accounts.access import Scope
from accounts.accounts.models import Account
from accounts.keys.models import Partner
from issuers.models import Token
from issuers.models.events import Event
from marketdata.fix.protocol.executions import TYPES
from marketdata.models import FixSession
from partnerapi.sandbox.data.approvals import approved_grant, approved_key
from tests.marketdata.trading.trading import (
    buy,
    deposit,
    give,
    new_clients,
    new_market,
    new_partner,
    place,
    sell,
)

COMP_ID = "PARTNER003"


@dataclass
class Trader:
    """A partner with a drop copy, and two clients who trade with each other."""

    partner: Partner
    key: str
    token: Token
    seller: Account
    buyer: Account

    def trade(self, quantity: int = 1, price: int = 100) -> None:
        """Two orders that trade: four events."""
        place(
            self.token,
            sell(self.seller, quantity, price),
            buy(self.buyer, quantity, price),
        )

    def events(self, after: int = 0) -> list[int]:
        events = Event.objects.filter(
            partner=self.partner, type__in=TYPES, sequence__gt=after
        )
        return list(events.order_by("sequence").values_list("sequence", flat=True))


def new_trader() -> Trader:
    token, partner = new_market(), new_partner()
    approved_grant(partner, token.issuer)
    seller, buyer = new_clients(2, partner)
    deposit(buyer, 1_000_000)
    give(token, {seller: 10_000})
    FixSession.objects.create(comp_id=COMP_ID, partner=partner, is_drop_copy=True)
    key = approved_key(partner, [Scope.TRADING_READ])[1]
    return Trader(partner, key, token, seller, buyer)

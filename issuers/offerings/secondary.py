"""Moves a token from the primary market to the secondary market, for good."""

from issuers.models import Token
from issuers.offerings.deciding import OfferingRefused
from issuers.offerings.models import UNDER_WAY


def open_secondary_market(token: Token) -> None:
    """Of two at the same time, one opens the market.

    Raises:
        OfferingRefused: an offering is under way, or it is open.
    """
    if token.offerings.filter(status__in=UNDER_WAY).exists():
        raise OfferingRefused(f"{token.symbol} has an offering under way.")
    opened = Token.objects.filter(
        pk=token.pk, market_type=Token.MarketType.PRIMARY_MARKET
    ).update(market_type=Token.MarketType.SECONDARY_MARKET)
    if not opened:
        raise OfferingRefused(f"{token.symbol} is already on the secondary market.")

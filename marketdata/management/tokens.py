"""The token that an operator names in a command about order books."""

from django.core.management.base import CommandError

from issuers.management.register_command import token_named
from issuers.models import Token


def traded_token(symbol: str) -> Token:
    """The token of this symbol, which is on the secondary market.

    Raises:
        CommandError: there is none, or it is not; the message names the remedy.
    """
    token = token_named(symbol)
    if token.market_type != Token.MarketType.SECONDARY_MARKET:
        raise CommandError(
            f"{symbol} is not on the secondary market and has no order book; "
            f"market open-secondary {symbol} opens one."
        )
    return token

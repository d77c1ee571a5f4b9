"""Refusals of orders, each with its published code."""

from datetime import datetime

from accounts.accounts.models import AccountNotActive
from accounts.cash.writer import InsufficientFunds
from issuers.compliance.errors import TransferRefused
from partnerapi.core.errors import PartnerAPIError
from partnerapi.core.times import to_rfc3339

__all__ = ["AccountNotActive", "InsufficientFunds", "TransferRefused"]


class NotTradable(PartnerAPIError):
    """The token has no market that takes orders: it is on the primary market, or its
    book is fed from outside."""

    code = "NOT_TRADABLE"
    example = "an order for a token whose `market` is null"
    remedy = "Choose a token whose `market` is not null."


class MarketClosed(PartnerAPIError):
    """The market's `phase` does not allow this; the next begins at `nextPhaseAt`."""

    code = "MARKET_CLOSED"
    example = "an order after the end of the session"
    remedy = (
        "Wait until `Token.market.phase` is CONTINUOUS, AT_LAST or CALL; until then "
        "orders can only be cancelled."
    )

    @classmethod
    def of(cls, phase: str, next_phase_at: datetime | None) -> "MarketClosed":
        return cls(
            f"The market is {phase} and takes no orders.",
            phase=phase,
            nextPhaseAt=next_phase_at and to_rfc3339(next_phase_at),
        )


class OnlyRestingOrders(PartnerAPIError):
    """The market is in phase CALL, where nothing trades before the auction: an IOC or
    FOK order cannot rest.
    """

    code = "ONLY_RESTING_ORDERS"
    example = "`timeInForce: IOC` during a call"
    remedy = "Send a DAY, GTC or GTD order, or wait until the market is CONTINUOUS."


class OnlyAuctionPrice(PartnerAPIError):
    """The market is in phase AT_LAST: the limit of an order or an amendment is `price`,
    that of the auction before.
    """

    code = "ONLY_AUCTION_PRICE"
    example = "another limit than `Token.market.referencePrice` during AT_LAST"
    remedy = "Send the order with the limit `price`, or wait for the next phase."


class OutsideBand(PartnerAPIError):
    """The order is FOK, and some of its units would trade at a price below `floor` or
    above `cap`.
    """

    code = "OUTSIDE_BAND"
    example = "a FOK order that is larger than what the book holds near the last price"
    remedy = (
        "Send fewer units, or a DAY, GTC or GTD order: the market then goes to a CALL, "
        "and the order trades in its auction."
    )


class OrdersBlocked(PartnerAPIError):
    """Orders of the partner or the account, or for the token, are blocked."""

    code = "ORDERS_BLOCKED"
    example = "an order after `cancelOrders` with `block: true`"
    remedy = (
        "`orderBlocks` lists the blocks. `releaseOrders` releases your own; staff "
        "release theirs."
    )


class InsufficientUnits(PartnerAPIError):
    """The user has fewer available units (`available`) than the order sells
    (`required`).
    """

    code = "INSUFFICIENT_UNITS"
    example = "a sell order for more than `positions.available`"
    remedy = "Sell at most `available`, or cancel other orders of the user."


class TickSize(PartnerAPIError):
    """The limit price is not a multiple of the market's `tickSize`."""

    code = "TICK_SIZE"
    example = "`limitPrice: 1003` where `tickSize` is 5"
    remedy = "Round the limit price to a multiple of `tickSize`."


class LotSize(PartnerAPIError):
    """The quantity is not a multiple of the market's `lotSize`."""

    code = "LOT_SIZE"
    example = "`quantity: 15` where `lotSize` is 10"
    remedy = "Round the quantity to a multiple of `lotSize`."


class PriceOutsideCollar(PartnerAPIError):
    """The limit price is below the market's `floor` or above its `cap`."""

    code = "PRICE_OUTSIDE_COLLAR"
    example = "a limit of twice the reference price"
    remedy = (
        "Choose a limit price between `floor` and `cap`; both follow the "
        "reference price."
    )


class OrderValueTooLarge(PartnerAPIError):
    """The quantity, its value at the limit price, or the value of all units at that
    price exceeds `maximum`: the market's, if its parameters set one.
    """

    code = "ORDER_VALUE_TOO_LARGE"
    example = "`quantity: 9223372036854775808`"
    remedy = "Send smaller orders."


class TooManyOpenOrders(PartnerAPIError):
    """The account already has `maximum` open orders for this token."""

    code = "TOO_MANY_OPEN_ORDERS"
    example = "the 1,001st open order of an account for a token"
    remedy = "Cancel some orders first."


class OrderRateExceeded(PartnerAPIError):
    """The partner has placed `maximum` orders within a second, as many as it may."""

    code = "ORDER_RATE_EXCEEDED"
    example = "more orders in a second than `viewer.orderLimits.ordersPerSecond`"
    remedy = "Send the order a second later, with a new `Idempotency-Key`."


class OpenValueExceeded(PartnerAPIError):
    """With the order (`required`), the open orders of the partner (`open`) would be
    worth more than `maximum`, euro cents."""

    code = "OPEN_VALUE_EXCEEDED"
    example = "an order beyond `viewer.orderLimits.openValue`"
    remedy = "Cancel other orders first, or send a smaller one."


class DuplicateClientOrderID(PartnerAPIError):
    """The account has already used this clientOrderID, for the order `orderID`."""

    code = "DUPLICATE_CLIENT_ORDER_ID"
    example = "the same `clientOrderID` twice"
    remedy = "Read the existing order; use another clientOrderID for a new one."


class WouldTrade(PartnerAPIError):
    """The order or the amendment is post-only, and would trade at once: the best price
    of the other side is `bestPrice`."""

    code = "WOULD_TRADE"
    example = "`postOnly: true` with a limit at which others sell"
    remedy = "Choose a limit price behind `bestPrice`, or leave `postOnly` out."


class OrderNotOpen(PartnerAPIError):
    """The order has ended; see `status` and `statusReason`."""

    code = "ORDER_NOT_OPEN"
    example = "an amendment of an order that is FILLED"
    remedy = "Place another order."


class OrderChanged(PartnerAPIError):
    """The order's `version` is not the one given in the amendment."""

    code = "ORDER_CHANGED"
    example = "two amendments of version 1"
    remedy = "Read the order again, and amend its current `version`."

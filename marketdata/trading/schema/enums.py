"""The words of trading."""

from marketdata.trading import in_force, models
from partnerapi.graphql.relay import enumeration

Side = models.OrderSide
Status = models.OrderStatus
Reason = models.OrderStatusReason
Phase = models.Phase


class _Type(models.models.TextChoices):
    LIMIT = "LIMIT"


class _Liquidity(models.models.TextChoices):
    MAKER = "MAKER"
    TAKER = "TAKER"
    AUCTION = "AUCTION"


OrderSide = enumeration(
    Side,
    "OrderSide",
    "Side of an order.",
    {Side.BUY: "Buy.", Side.SELL: "Sell."},
)
OrderType = enumeration(
    _Type,
    "OrderType",
    "Type of order. More may be added.",
    {
        _Type.LIMIT: "Trades at its limit price or better. With `timeInForce: IOC`, "
        "a limit at the worst price you accept makes it a market order with "
        "price protection."
    },
)
TimeInForce = enumeration(
    in_force.TimeInForce,
    "TimeInForce",
    "How long an order stays in the book.",
    {each: each.meaning for each in in_force.TimeInForce},
)
OrderStatus = enumeration(
    Status,
    "OrderStatus",
    "Status of an order; all but OPEN are final.",
    {
        Status.OPEN: "Resting in the book, partially filled or unfilled.",
        Status.FILLED: "All its units have traded.",
        Status.CANCELLED: "The untraded units were cancelled; `statusReason` says why.",
        Status.EXPIRED: "The untraded units have expired.",
    },
)
OrderStatusReason = enumeration(
    Reason,
    "OrderStatusReason",
    "Why an order ended before it was filled. More may be added.",
    {
        Reason.BY_PARTNER: "You cancelled it.",
        Reason.BY_STAFF: "Staff cancelled it.",
        Reason.IMMEDIATE_OR_CANCEL: "It was IOC, and these units did not trade "
        "immediately.",
        Reason.FILL_OR_KILL: "It was FOK, and could not trade in full.",
        Reason.SELF_TRADE: "It would have traded with an order of the same user.",
        Reason.ACCOUNT_NOT_ACTIVE: "Its account is no longer ACTIVE.",
        Reason.HOLDER_FROZEN: "Its holder was frozen.",
        Reason.UNITS_LOCKED: "Its holder's units were locked.",
        Reason.NOT_ELIGIBLE: "A rule of the token refused the trade, or refuses the "
        "holder since the investor profile changed.",
        Reason.RULE_CHANGED: "The token's rules changed and now refuse it.",
        Reason.END_OF_SESSION: "The session ended.",
        Reason.TIME_IN_FORCE: "It reached its expiry.",
    },
)
MarketPhase = enumeration(
    Phase,
    "MarketPhase",
    "Phase of a market.",
    {
        Phase.CLOSED: "Orders can only be cancelled.",
        Phase.CALL: "Orders are collected for an auction; reserved for a later "
        "version.",
        Phase.CONTINUOUS: "Orders are accepted and matched continuously.",
        Phase.HALTED: "Halted by staff: orders can only be cancelled.",
    },
)
Liquidity = enumeration(
    _Liquidity,
    "Liquidity",
    "Role of an order in a trade.",
    {
        _Liquidity.MAKER: "The resting order, whose price applies.",
        _Liquidity.TAKER: "The incoming order, which matched a resting order.",
        _Liquidity.AUCTION: "Traded in an auction; reserved for a later version.",
    },
)

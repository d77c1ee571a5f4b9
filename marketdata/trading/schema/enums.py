"""The words of trading."""

from django.db.models import TextChoices

from marketdata.trading import in_force, models
from partnerapi.graphql.relay import enumeration

Side = models.OrderSide
Status = models.OrderStatus
Phase = models.Phase
Model = models.TradingModel


class _Type(TextChoices):
    LIMIT = "LIMIT"


class _Liquidity(TextChoices):
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
TradingModel = enumeration(
    Model,
    "TradingModel",
    "How orders of a market trade in a session. More may be added.",
    {
        Model.CONTINUOUS: "At any time.",
        Model.FIXING: "In fixings, at set times of day.",
        Model.BOTH: "At any time, and in fixings at set times of day.",
    },
)
OrderStatusReason = enumeration(
    in_force.OrderStatusReason,
    "OrderStatusReason",
    "Why an order ended before it was filled. More may be added.",
    {each: each.meaning for each in in_force.OrderStatusReason},
)
MarketPhase = enumeration(
    Phase,
    "MarketPhase",
    "Phase of a market.",
    {
        Phase.CLOSED: "Orders can only be cancelled.",
        Phase.CALL: "Orders are collected for an auction: nothing trades before its "
        "end, and the book is not shown.",
        Phase.AT_LAST: "Orders are accepted at the price of the auction before, and "
        "matched at it continuously.",
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
        _Liquidity.AUCTION: "Traded in an auction, at its price. Both sides pay the "
        "fee of a maker.",
    },
)

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
    "Whether an order buys or sells.",
    {Side.BUY: "It buys.", Side.SELL: "It sells."},
)
OrderType = enumeration(
    _Type,
    "OrderType",
    "What kind an order is. More may come.",
    {
        _Type.LIMIT: "It trades at its limit or better. With `timeInForce: IOC` at the "
        "worst price that you accept it is a market order with protection."
    },
)
TimeInForce = enumeration(
    in_force.TimeInForce,
    "TimeInForce",
    "How long an order rests.",
    {each: each.meaning for each in in_force.TimeInForce},
)
OrderStatus = enumeration(
    Status,
    "OrderStatus",
    "Where an order stands; all but OPEN is final.",
    {
        Status.OPEN: "It rests in the book, filled in part or not at all.",
        Status.FILLED: "All its units have traded.",
        Status.CANCELLED: "What had not traded was cancelled; `statusReason` says why.",
        Status.EXPIRED: "What had not traded has expired.",
    },
)
OrderStatusReason = enumeration(
    Reason,
    "OrderStatusReason",
    "Why an order ended before it was filled. More may come.",
    {
        Reason.BY_PARTNER: "You cancelled it.",
        Reason.BY_STAFF: "Staff cancelled it.",
        Reason.IMMEDIATE_OR_CANCEL: "It was IOC, and this did not trade at once.",
        Reason.FILL_OR_KILL: "It was FOK, and could not trade whole.",
        Reason.SELF_TRADE: "It met an order of its own user, and stopped there.",
        Reason.ACCOUNT_NOT_ACTIVE: "Its account left ACTIVE.",
        Reason.HOLDER_FROZEN: "Its holder was frozen.",
        Reason.UNITS_LOCKED: "Its holder's units were locked.",
        Reason.NOT_ELIGIBLE: "A rule of the token refused the trade that it was due, "
        "or refuses its holder since the investor profile changed.",
        Reason.RULE_CHANGED: "The token's rules changed, and refuse it.",
        Reason.END_OF_SESSION: "The session ended.",
        Reason.TIME_IN_FORCE: "Its time was over.",
    },
)
MarketPhase = enumeration(
    Phase,
    "MarketPhase",
    "What a market does.",
    {
        Phase.CLOSED: "Orders can be cancelled, and nothing else.",
        Phase.CALL: "Orders are collected for an auction: from a later version on.",
        Phase.CONTINUOUS: "Orders are placed, and trade as they meet.",
        Phase.HALTED: "Staff have halted it: orders can be cancelled, and nothing "
        "else.",
    },
)
Liquidity = enumeration(
    _Liquidity,
    "Liquidity",
    "Which part an order had in a trade.",
    {
        _Liquidity.MAKER: "It rested, and the trade is at its price.",
        _Liquidity.TAKER: "It came, and met an order that rested.",
        _Liquidity.AUCTION: "Both traded in an auction: from a later version on.",
    },
)

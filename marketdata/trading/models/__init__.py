"""Internal markets: their phases, orders and executions, and each market's log.

`market` writes orders, executions and events, a whole request in one transaction.
`busts` writes the events that bust a trade. Functions of the owner write every row.
"""

from marketdata.trading.models.auctions import Auction, AuctionFill
from marketdata.trading.models.controls import CancelTimer, OrderBlock, RefusedOrder
from marketdata.trading.models.documents import DocumentKind, IssuedDocument
from marketdata.trading.models.events import OrderEvent
from marketdata.trading.models.executions import Bust, Execution
from marketdata.trading.models.fees import ExecutionFee, OrderFee, Tariff
from marketdata.trading.models.markets import ClockLease, Market, Phase
from marketdata.trading.models.orders import Order, OrderSide, OrderStatus, row_of
from marketdata.trading.models.parameters import (
    MOST_AT_LAST,
    PARAMETERS,
    MarketParameters,
    TradingModel,
)

__all__ = [
    "MOST_AT_LAST",
    "PARAMETERS",
    "Auction",
    "AuctionFill",
    "Bust",
    "CancelTimer",
    "ClockLease",
    "DocumentKind",
    "Execution",
    "ExecutionFee",
    "IssuedDocument",
    "Market",
    "MarketParameters",
    "Order",
    "OrderBlock",
    "OrderEvent",
    "OrderFee",
    "OrderSide",
    "OrderStatus",
    "Phase",
    "RefusedOrder",
    "Tariff",
    "TradingModel",
    "row_of",
]

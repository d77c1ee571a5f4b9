from marketdata.models.books import (
    BookChange,
    BookLevel,
    BookSnapshot,
    OrderBookHead,
    Side,
    Trade,
)
from marketdata.models.conformance import ConformanceReport
from marketdata.models.days import TradingDay
from marketdata.models.leases import FixLease
from marketdata.models.sessions import FixSession

__all__ = [
    "BookChange",
    "BookLevel",
    "BookSnapshot",
    "ConformanceReport",
    "FixLease",
    "FixSession",
    "OrderBookHead",
    "Side",
    "Trade",
    "TradingDay",
]

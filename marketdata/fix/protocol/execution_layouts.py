"""The messages of a drop copy. Standard library only."""

from marketdata.fix.protocol.rules import LONGEST_REQUEST_ID
from marketdata.fix.protocol.tags import Layout, Tag, instrument

REQUEST_ID = Tag(
    568,
    "TradeRequestID",
    f"Your id; 1 to {LONGEST_REQUEST_ID} printable ASCII characters.",
)

LAYOUTS = (
    Layout(
        "AD",
        "TradeCaptureReportRequest",
        "partner",
        "In a drop copy: requests the reports that follow an event, then new ones.",
        (
            REQUEST_ID,
            Tag(569, "TradeRequestType", "1"),
            Tag(263, "SubscriptionRequestType", "1"),
            Tag(
                17,
                "ExecID",
                "The last one that you have processed; reports with higher ones "
                "follow. 0: all that are kept.",
            ),
        ),
    ),
    Layout(
        "AQ",
        "TradeCaptureReportRequestAck",
        "us",
        "Accepts or refuses a TradeCaptureReportRequest.",
        (
            REQUEST_ID._replace(meaning="As in your request."),
            Tag(569, "TradeRequestType", "As in your request."),
            Tag(749, "TradeRequestResult", "0: accepted. 8: 569 is not 1. 99: see 58."),
            Tag(750, "TradeRequestStatus", "0: accepted. 2: refused."),
            Tag(55, "Symbol", "[N/A]"),
            Tag(58, "Text", "Why it is refused.", False, "with 750=2"),
        ),
    ),
    Layout(
        "8",
        "ExecutionReport",
        "us",
        "In a drop copy: an event of an order, as in your event feed in GraphQL.",
        (
            Tag(37, "OrderID", "The order's id in GraphQL."),
            Tag(11, "ClOrdID", "Its clientOrderID.", False, "if it has one"),
            Tag(17, "ExecID", "The sequence of the event in GraphQL; it increases."),
            Tag(
                19,
                "ExecRefID",
                "ExecID of the busted trade.",
                False,
                "with 150=H, while that event is kept",
            ),
            Tag(
                150,
                "ExecType",
                "0: accepted. 5: amended. F: traded. 4: cancelled. C: expired. H: the "
                "trade was busted.",
            ),
            Tag(
                39,
                "OrdStatus",
                "After the event: 0 open. 1 partly filled. 2 filled. 4 cancelled. C "
                "expired. A bust does not change it.",
            ),
            Tag(1, "Account", "The account's id in GraphQL."),
            *instrument(0),
            Tag(54, "Side", "1: buy. 2: sell."),
            Tag(38, "OrderQty", "Units of the order."),
            Tag(40, "OrdType", "2: limit."),
            Tag(44, "Price", "The limit.", False, "with 150=0, 5"),
            Tag(15, "Currency", "EUR"),
            Tag(
                59,
                "TimeInForce",
                "0: DAY. 1: GTC. 3: IOC. 4: FOK. 6: GTD.",
            ),
            Tag(126, "ExpireTime", "When it expires.", False, "with 59=6"),
            Tag(
                527,
                "SecondaryExecID",
                "The trade's number, as in 278 of X.",
                False,
                "with 150=F, H",
            ),
            Tag(32, "LastQty", "The trade's units.", False, "with 150=F, H"),
            Tag(31, "LastPx", "The trade's price.", False, "with 150=F, H"),
            Tag(151, "LeavesQty", "Units that may still trade."),
            Tag(14, "CumQty", "Units traded, without busted trades."),
            Tag(6, "AvgPx", "Their average price; six decimals."),
            Tag(60, "TransactTime", "Time of the event."),
            Tag(
                851,
                "LastLiquidityInd",
                "1: the order had rested. 2: it was incoming.",
                False,
                "with 150=F",
            ),
            Tag(58, "Text", "Why the order ended.", False, "with 150=4, C"),
        ),
    ),
)

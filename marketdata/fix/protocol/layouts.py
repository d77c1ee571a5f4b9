"""The rules of engagement as data: every message of a session, and its tags.

/docs/fix shows them, and the tests compare each message with them. Standard library
only.
"""

from marketdata.fix.protocol.execution_layouts import LAYOUTS as EXECUTION_LAYOUTS
from marketdata.fix.protocol.instrument_layouts import LAYOUTS as INSTRUMENT_LAYOUTS
from marketdata.fix.protocol.rules import (
    BOOK_SEQUENCE,
    DEEPEST,
    LONGEST_REFERENCE,
    LONGEST_REQUEST_ID,
    MOST_INSTRUMENTS,
    READ_ONLY,
)
from marketdata.fix.protocol.tags import ISIN, SYMBOL, Layout, Tag, instrument

REQUEST_ID = Tag(
    262, "MDReqID", f"Your id; 1 to {LONGEST_REQUEST_ID} printable ASCII characters."
)
DAY = (
    "Date, UTC: for a trade, its own; for a level, that of the book's state; for a "
    "figure, that of the last trade it includes."
)
SEQUENCE = Tag(
    BOOK_SEQUENCE,
    "BookSequence",
    "Number of the last book change included in this message, as orderBook.sequence "
    "in GraphQL. Not a standard FIX tag: use our dictionary.",
    False,
    "if enabled for your CompID",
)
TEST_REQUEST_ID = Tag(112, "TestReqID", "Any text; it is repeated in the answer.")

LAYOUTS = (
    Layout(
        "A",
        "Logon",
        "both",
        "Opens the session; our answer repeats 98, 108 and 141.",
        (
            Tag(98, "EncryptMethod", "0"),
            Tag(108, "HeartBtInt", "Seconds between heartbeats."),
            Tag(141, "ResetSeqNumFlag", "Y", False, "unless MsgSeqNum(34) is 1"),
            Tag(553, "Username", "The login of the key.", False, "optional"),
            Tag(
                554,
                "Password",
                "The API key as in X-Token-Auth; or its secret alone, with the "
                "login in 553.",
                False,
                "in your Logon",
            ),
        ),
    ),
    Layout(
        "0",
        "Heartbeat",
        "both",
        "Shows that the connection is alive; answers a TestRequest.",
        (TEST_REQUEST_ID._replace(always=False, when="after a TestRequest"),),
    ),
    Layout(
        "1",
        "TestRequest",
        "both",
        "Requires a Heartbeat immediately.",
        (TEST_REQUEST_ID,),
    ),
    Layout(
        "2",
        "ResendRequest",
        "both",
        "Answered with a SequenceReset that fills the gap.",
        (
            Tag(7, "BeginSeqNo", "The first missing number."),
            Tag(16, "EndSeqNo", "The last missing number; 0: all from BeginSeqNo."),
        ),
    ),
    Layout(
        "3",
        "Reject",
        "both",
        "Rejects a message that violates FIX 4.4.",
        (
            Tag(45, "RefSeqNum", "Its MsgSeqNum(34)."),
            Tag(371, "RefTagID", "The tag.", False, "if a tag is at fault"),
            Tag(372, "RefMsgType", "Type of the message.", False, "if it is known"),
            Tag(
                373,
                "SessionRejectReason",
                "The reason as a code.",
                False,
                "if it has one",
            ),
            Tag(58, "Text", "The reason in words.", False, "if there are details"),
        ),
    ),
    Layout(
        "4",
        "SequenceReset",
        "both",
        "Fills a gap (123=Y).",
        (
            Tag(123, "GapFillFlag", "Y", False, "in our message"),
            Tag(36, "NewSeqNo", "The next sequence number."),
        ),
    ),
    Layout(
        "5",
        "Logout",
        "both",
        "Ends the session; answer our Logout with yours.",
        (Tag(58, "Text", "Why.", False, "if we end it"),),
    ),
    Layout(
        "V",
        "MarketDataRequest",
        "partner",
        "Requests books, or ends a subscription. It is accepted or refused as a whole.",
        (
            REQUEST_ID,
            Tag(
                263, "SubscriptionRequestType", "0: once. 1: subscribe. 2: unsubscribe."
            ),
            Tag(264, "MarketDepth", f"Levels per side, 1 to {DEEPEST}; 0: {DEEPEST}."),
            Tag(
                265,
                "MDUpdateType",
                "0: full snapshots. 1: incremental updates.",
                False,
                "with 263=1",
            ),
            Tag(266, "AggregatedBook", "Y", False, "optional"),
            Tag(267, "NoMDEntryTypes", "1 to 9"),
            Tag(
                269,
                "MDEntryType",
                "0: bids. 1: asks. 2: trades. Figures of the trading day: 4 open, 5 "
                "close, 7 high, 8 low, 9 VWAP, B volume.",
                group=267,
            ),
            Tag(146, "NoRelatedSym", f"1 to {MOST_INSTRUMENTS}"),
            Tag(55, "Symbol", f"{SYMBOL}; [N/A] with 48 and 22.", group=146),
            Tag(48, "SecurityID", ISIN, False, "with 55=[N/A]", 146),
            Tag(22, "SecurityIDSource", "4 or 8", False, "with 55=[N/A]", 146),
        ),
    ),
    Layout(
        "W",
        "MarketDataSnapshotFullRefresh",
        "us",
        "A whole book, which replaces the one you have. 268=0: it is empty.",
        (
            REQUEST_ID._replace(meaning="As in your request."),
            *instrument(0),
            Tag(
                268,
                "NoMDEntries",
                "Number of entries that follow: levels, bids first, best first; the "
                "last trade, in the first W of a subscription; figures of the "
                "trading day.",
            ),
            Tag(
                269,
                "MDEntryType",
                "0: bid. 1: ask. 2: last trade. 4, 5, 7, 8, 9, B: figures of the day.",
                group=268,
            ),
            Tag(270, "MDEntryPx", "Price of a unit.", False, "unless 269=B", 268),
            Tag(15, "Currency", "EUR", False, "unless 269=B", 268),
            Tag(
                271,
                "MDEntrySize",
                "Units at this price; for a trade, its units; with 269=B, the volume.",
                False,
                "with 269=0, 1, 2, B",
                268,
            ),
            Tag(272, "MDEntryDate", DAY, False, "once the book has changed", 268),
            Tag(273, "MDEntryTime", "Its time, UTC.", False, "with 272", 268),
            Tag(
                290,
                "MDEntryPositionNo",
                "Position of the level, from 1.",
                False,
                "for a level",
                268,
            ),
            SEQUENCE,
        ),
    ),
    Layout(
        "X",
        "MarketDataIncrementalRefresh",
        "us",
        "Changed levels, by side and price, deletions first; then trades, then "
        "figures of the trading day.",
        (
            REQUEST_ID._replace(meaning="As in your request."),
            Tag(268, "NoMDEntries", "Number of entries that follow."),
            Tag(
                279,
                "MDUpdateAction",
                "0: new. 1: change. 2: delete; for a trade, it was busted.",
                group=268,
            ),
            Tag(
                269,
                "MDEntryType",
                "0: bid. 1: ask. 2: trade. 4, 5, 7, 8, 9, B: figures of the day.",
                group=268,
            ),
            Tag(278, "MDEntryID", "The trade's number.", False, "for a trade", 268),
            Tag(55, "Symbol", f"{SYMBOL}.", group=268),
            Tag(270, "MDEntryPx", "Price of a unit.", False, "unless 269=B", 268),
            Tag(15, "Currency", "EUR", False, "unless 279=2 or 269=B", 268),
            Tag(
                271,
                "MDEntrySize",
                "New total of units at this price; for a trade, its units; with "
                "269=B, the volume.",
                False,
                "with 269=0, 1, 2, B, unless 279=2",
                268,
            ),
            Tag(272, "MDEntryDate", DAY, False, "once the book has changed", 268),
            Tag(273, "MDEntryTime", "Its time, UTC.", False, "with 272", 268),
            SEQUENCE,
        ),
    ),
    Layout(
        "Y",
        "MarketDataRequestReject",
        "us",
        "Refuses a MarketDataRequest as a whole.",
        (
            REQUEST_ID._replace(meaning="As in your request."),
            Tag(281, "MDReqRejReason", "The reason as a code."),
            Tag(58, "Text", "The reason in words."),
        ),
    ),
    *INSTRUMENT_LAYOUTS,
    *EXECUTION_LAYOUTS,
    Layout(
        "j",
        "BusinessMessageReject",
        "us",
        "Answers orders, quotes and other messages that this session does not "
        "support, and a request whose id is too long.",
        (
            Tag(45, "RefSeqNum", "MsgSeqNum(34) of your message."),
            Tag(372, "RefMsgType", "Type of the message."),
            Tag(
                379,
                "BusinessRejectRefID",
                "Its id, such as ClOrdID(11), QuoteReqID(131) or MDReqID(262), cut "
                f"to {LONGEST_REFERENCE} characters.",
                False,
                "if it has one",
            ),
            Tag(
                380,
                "BusinessRejectReason",
                "3: unsupported message type. 0: another reason, given in 58.",
            ),
            Tag(58, "Text", f"Why, in words; with 380=3: {READ_ONLY}"),
        ),
    ),
)
"""Every message of a session, standard header and trailer aside."""

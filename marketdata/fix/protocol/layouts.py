"""The rules of engagement as data: every message of a session, and its tags.

/docs/fix shows them, and the tests compare each message with them. Standard library
only.
"""

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
    262, "MDReqID", f"Yours; 1 to {LONGEST_REQUEST_ID} printable ASCII characters."
)
DAY = (
    "Day, UTC: of a trade its own; of levels, that of the book's state; of a figure, "
    "of the last trade that it holds."
)
SEQUENCE = Tag(
    BOOK_SEQUENCE,
    "BookSequence",
    "Number of the last change of the book that this message leads to, "
    "orderBook.sequence of GraphQL. Not FIX's: take our dictionary.",
    False,
    "if your CompID asks for it",
)
TEST_REQUEST_ID = Tag(112, "TestReqID", "Any text; the answer repeats it.")

LAYOUTS = (
    Layout(
        "A",
        "Logon",
        "both",
        "Opens the session; ours repeats 98, 108 and 141.",
        (
            Tag(98, "EncryptMethod", "0"),
            Tag(108, "HeartBtInt", "Seconds between heartbeats."),
            Tag(141, "ResetSeqNumFlag", "Y", False, "unless MsgSeqNum(34) is 1"),
            Tag(553, "Username", "The login of the key.", False, "if you like"),
            Tag(
                554,
                "Password",
                "The API key as in X-Token-Auth; or its secret, with the login in 553.",
                False,
                "in yours",
            ),
        ),
    ),
    Layout(
        "0",
        "Heartbeat",
        "both",
        "Says that the line is alive; answers a TestRequest.",
        (TEST_REQUEST_ID._replace(always=False, when="after a TestRequest"),),
    ),
    Layout(
        "1", "TestRequest", "both", "Demands a Heartbeat at once.", (TEST_REQUEST_ID,)
    ),
    Layout(
        "2",
        "ResendRequest",
        "both",
        "Is answered with a SequenceReset that fills the gap.",
        (
            Tag(7, "BeginSeqNo", "The first number missed."),
            Tag(16, "EndSeqNo", "The last; 0: all from there."),
        ),
    ),
    Layout(
        "3",
        "Reject",
        "both",
        "Names a message that breaks FIX 4.4 itself.",
        (
            Tag(45, "RefSeqNum", "Its MsgSeqNum(34)."),
            Tag(371, "RefTagID", "The tag.", False, "if it is about one"),
            Tag(372, "RefMsgType", "Its type.", False, "if it is known"),
            Tag(
                373, "SessionRejectReason", "Why, as a number.", False, "if it has one"
            ),
            Tag(58, "Text", "Why, in words.", False, "if there is more to say"),
        ),
    ),
    Layout(
        "4",
        "SequenceReset",
        "both",
        "Fills a gap (123=Y).",
        (
            Tag(123, "GapFillFlag", "Y", False, "in ours"),
            Tag(36, "NewSeqNo", "The number that follows."),
        ),
    ),
    Layout(
        "5",
        "Logout",
        "both",
        "Ends the session; answer ours with one.",
        (Tag(58, "Text", "Why.", False, "if we end it"),),
    ),
    Layout(
        "V",
        "MarketDataRequest",
        "partner",
        "Asks for books, or ends that. All of it holds, or nothing.",
        (
            REQUEST_ID,
            Tag(263, "SubscriptionRequestType", "0 once. 1 from now on. 2 no longer."),
            Tag(264, "MarketDepth", f"Levels of a side, 1 to {DEEPEST}; 0: {DEEPEST}."),
            Tag(
                265,
                "MDUpdateType",
                "0: a snapshot on every change. 1: what changed.",
                False,
                "with 263=1",
            ),
            Tag(266, "AggregatedBook", "Y", False, "if you like"),
            Tag(267, "NoMDEntryTypes", "1 to 9"),
            Tag(
                269,
                "MDEntryType",
                "0 bids. 1 asks. 2 trades. Of the trading day: 4 open. 5 close. 7 "
                "high. 8 low. 9 VWAP. B volume.",
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
        "A whole book; take it for what you had. 268=0: it is empty.",
        (
            REQUEST_ID._replace(meaning="Of your request."),
            *instrument(0),
            Tag(
                268,
                "NoMDEntries",
                "Entries that follow: levels, best first, bids first; the last trade, "
                "in the first W of a subscription; figures of the trading day.",
            ),
            Tag(
                269,
                "MDEntryType",
                "0 bid. 1 ask. 2 last trade. 4 5 7 8 9 B figures of the day.",
                group=268,
            ),
            Tag(270, "MDEntryPx", "Price of a unit.", False, "unless 269=B", 268),
            Tag(15, "Currency", "EUR", False, "unless 269=B", 268),
            Tag(
                271,
                "MDEntrySize",
                "Units at this price; of a trade, its units; with 269=B the volume.",
                False,
                "with 269=0, 1, 2, B",
                268,
            ),
            Tag(272, "MDEntryDate", DAY, False, "once the book has moved", 268),
            Tag(273, "MDEntryTime", "Its time, UTC.", False, "with 272", 268),
            Tag(
                290,
                "MDEntryPositionNo",
                "Rank of the level, from 1.",
                False,
                "of a level",
                268,
            ),
            SEQUENCE,
        ),
    ),
    Layout(
        "X",
        "MarketDataIncrementalRefresh",
        "us",
        "What became of levels, by side and price, then trades, then figures of the "
        "trading day. Deletions come first.",
        (
            REQUEST_ID._replace(meaning="Of your request."),
            Tag(268, "NoMDEntries", "Entries that follow."),
            Tag(
                279,
                "MDUpdateAction",
                "0 new. 1 change. 2 delete; of a trade: it was undone.",
                group=268,
            ),
            Tag(
                269,
                "MDEntryType",
                "0 bid. 1 ask. 2 trade. 4 5 7 8 9 B figures of the day.",
                group=268,
            ),
            Tag(278, "MDEntryID", "The trade's number.", False, "of a trade", 268),
            Tag(55, "Symbol", f"{SYMBOL}.", group=268),
            Tag(270, "MDEntryPx", "Price of a unit.", False, "unless 269=B", 268),
            Tag(15, "Currency", "EUR", False, "unless 279=2 or 269=B", 268),
            Tag(
                271,
                "MDEntrySize",
                "Units at this price from now on; of a trade, its units; with 269=B "
                "the volume.",
                False,
                "with 269=0, 1, 2, B, unless 279=2",
                268,
            ),
            Tag(272, "MDEntryDate", DAY, False, "once the book has moved", 268),
            Tag(273, "MDEntryTime", "Its time, UTC.", False, "with 272", 268),
            SEQUENCE,
        ),
    ),
    Layout(
        "Y",
        "MarketDataRequestReject",
        "us",
        "Refuses a MarketDataRequest; nothing of it holds.",
        (
            REQUEST_ID._replace(meaning="Of your request."),
            Tag(281, "MDReqRejReason", "Why, as a number."),
            Tag(58, "Text", "Why, in words."),
        ),
    ),
    *INSTRUMENT_LAYOUTS,
    Layout(
        "j",
        "BusinessMessageReject",
        "us",
        "Answers orders, quotes and whatever else this session is not for, and a "
        "request whose id is too long.",
        (
            Tag(45, "RefSeqNum", "MsgSeqNum(34) of your message."),
            Tag(372, "RefMsgType", "Its type."),
            Tag(
                379,
                "BusinessRejectRefID",
                f"Its id: ClOrdID(11), QuoteReqID(131), MDReqID(262) or the like; "
                f"{LONGEST_REFERENCE} characters of it.",
                False,
                "if it has one",
            ),
            Tag(
                380,
                "BusinessRejectReason",
                "3: unsupported message type. 0: another rule, which 58 names.",
            ),
            Tag(58, "Text", f"Why, in words; with 380=3: {READ_ONLY}"),
        ),
    ),
)
"""Every message of a session, standard header and trailer aside."""

"""The rules of engagement as data: limits, reject reasons, conduct of a session.

The acceptor obeys them, /docs/fix shows them, the tests compare with them; the messages
are in `marketdata.fix.protocol.layouts`. Standard library only.
"""

VERSION = "3, of 24 November 2026"
"""Of the rules of engagement: the number rises when a client must be looked at."""
SOH = "\x01"
BEGIN_STRING = "FIX.4.4"

MOST_SUBSCRIPTIONS = 200
"""Of a session; each instrument of a MarketDataRequest is one."""
MOST_INSTRUMENTS = 50
"""Named in one MarketDataRequest."""
DEEPEST = 50
"""Levels of a side; MarketDepth(264)=0 asks for as many."""
BOOK_SEQUENCE = 5083
"""The tag of a book's number, `orderBook.sequence`, for CompIDs that ask for it."""
LONGEST_REQUEST_ID = 36
LONGEST_REFERENCE = 100
"""Characters of another message's id that are kept and repeated."""
MESSAGES_BURST = 50
"""Messages a partner may send at once; a second, as FIX_MESSAGES_PER_SECOND says."""
CLOCK_SECONDS = 120
"""How far SendingTime(52) of a message after the Logon may be from our clock."""
MOST_EARLY = 200
"""Messages of a session that come before one that is missing, which they wait for."""
MOST_UNSENT_TRADES = 1_000
MOST_UNSENT_BYTES = 1_048_576
"""Of answers that wait; any one may be longer, so that a list of any length fits."""
TRADES_IN_A_MESSAGE = 200
INSTRUMENTS_IN_A_MESSAGE = 200
"""Of a SecurityList; a longer list comes in parts: LastFragment(893)=N, then Y."""
PROBE_BYTES = 16_384
"""Sent since the last answered TestRequest, when the next one follows."""
WINDOW_BYTES = 65_536
"""Sent and not known to be read, when sending stops."""
CREDIT_SECONDS = 10.0
"""How long a TestRequest may go unanswered."""

SLOW_CONSUMER = (
    "slow consumer: a TestRequest was not answered for "
    f"{CREDIT_SECONDS:.0f} seconds; read faster, or subscribe to less"
)
TOO_MANY_MESSAGES = (
    "more than {per_second} messages a second; ask for several instruments in one "
    "MarketDataRequest"
)
TOO_MANY_EARLY = (
    f"more than {MOST_EARLY} messages arrived after a missing one: answer a "
    "ResendRequest with the messages or with a gap fill"
)
TOO_MANY_TRADES = (
    f"slow consumer: more than {MOST_UNSENT_TRADES} trades waited for you to read; "
    "read faster, or subscribe to less"
)
TOO_MANY_ANSWERS = (
    f"slow consumer: more than {MOST_UNSENT_BYTES // 1024:,} KB of answers waited "
    "for you to read when you asked for more; read faster, or ask less often"
)
ALIVE_SECONDS = 1.0
"""How long a session has to answer, when a second Logon of its CompID comes."""
LOGGED_ON_FROM = (
    "logged on from {address} since {since}, and that session answers: end it "
    "first, or use a separate CompID for each simultaneous connection"
)
LOGGED_ON_ELSEWHERE = (
    "logged on elsewhere: a second Logon of this CompID arrived, and this session "
    f"did not answer a TestRequest within {ALIVE_SECONDS:.0f} second"
)
GOING_DOWN = (
    "The acceptor is shutting down; log on to the other acceptor, or to this one in a "
    "minute."
)
INTERNAL_ERROR = "Internal error; log on again, and report it if it happens again."
REQUEST_IDS = {
    262: "MDReqID",
    320: "SecurityReqID",
    324: "SecurityStatusReqID",
    335: "TradSesReqID",
    568: "TradeRequestID",
}
TOO_MANY_STANDING = (
    "Too many subscriptions with SubscriptionRequestType(263)=1; end some with 263=2"
)
REQUEST_ID_RULE = (
    f"{{field}} must be 1 to {LONGEST_REQUEST_ID} printable ASCII characters"
)
LONGEST_MESSAGE = 65_536
"""Bytes of a message that a partner sends."""
TOO_LONG = f"A message is longer than {LONGEST_MESSAGE:,} bytes."
LONGEST_TAG = 9
LONG_TAG = f"The tag of a field has more than {LONGEST_TAG} digits."
DATA_FIELD = (
    "Field {tag} is of type data, or gives the length of one: such fields are "
    "refused. Omit it."
)
LOGON_WITHIN = (
    "A Logon within a session is refused: to reset sequence numbers, log out and "
    "log on again."
)
READ_ONLY = "read-only market data session: this message type is not supported"

NO_ORDERS = (
    "drop copy: of application messages only TradeCaptureReportRequest(AD) is supported"
)
EXEC_ID_RULE = (
    "ExecID(17) must be that of the last report that you have processed, or 0 for all"
)
NO_SUCH_EVENT = "ExecID(17) is higher than that of your last event, {last}"
PRUNED_EVENTS = (
    "Events up to {pruned} are no longer kept: read your orders in GraphQL, and "
    "request reports with ExecID(17)={pruned}"
)

MD_REJECT_REASONS = {
    "0": "Unknown symbol, or a token that your integration account may not see",
    "1": "MDReqID(262) is in use by a subscription of this session",
    "2": f"Too many: at most {MOST_SUBSCRIPTIONS} subscriptions in a session, "
    f"{MOST_INSTRUMENTS} instruments in a request",
    "3": "The API key lacks the scope marketdata:read",
    "4": "No subscription has this MDReqID(262)",
    "5": f"MarketDepth(264) must be 0 to {DEEPEST}",
    "6": "MDUpdateType(265) must be 0 or 1 where SubscriptionRequestType(263) is 1",
    "7": "AggregatedBook(266) must be Y or omitted",
    "8": "MDEntryType(269) must be one of 0, 1, 2, 4, 5, 7, 8, 9 and B",
}
"""MDReqRejReason(281) and what Text(58) begins with."""

SESSION_RULES = (
    ("Encryption", "EncryptMethod(98)=0; TLS encrypts the connection."),
    (
        "Sequence numbers",
        "They restart with every Logon: ResetSeqNumFlag(141)=Y, or 34=1. A Logon "
        "within a session ends it.",
    ),
    (
        "PossResend",
        "A message with PossResend(97)=Y is ignored if it is a MarketDataRequest "
        "whose MDReqID(262) is in use, or the message refused last.",
    ),
    (
        "ResendRequest",
        "Answered with a gap fill: outdated book changes are never sent again. A W "
        "of each subscribed book follows, then the trades of the gap.",
    ),
    (
        "Early messages",
        "A message whose MsgSeqNum(34) is too high waits for the missing ones, "
        f"which a ResendRequest asks for. A session with more than {MOST_EARLY} such "
        "messages is logged out; each counts towards the rate.",
    ),
    (
        "Data",
        "Fields of type data, such as RawData(96) and EncodedText(355), and the "
        "fields with their lengths are refused in every message, with a Logout.",
    ),
    (
        "Garbled messages",
        "A message with a wrong BodyLength(9) or CheckSum(10), or with a field that "
        "is not tag=value, is ignored.",
    ),
    (
        "TestRequest",
        f"We send one after every {PROBE_BYTES // 1024} KB; answer it with a "
        f"Heartbeat that repeats TestReqID(112). With {WINDOW_BYTES // 1024} KB "
        f"unanswered we stop sending; after {CREDIT_SECONDS:.0f} seconds we log the "
        "session out.",
    ),
    (
        "Conflation",
        "Book changes are conflated: one message gives each level's state after all "
        "changes since the last message. Trades are never omitted.",
    ),
    (
        "Rate",
        f"Up to {MESSAGES_BURST} messages at once, then a rate per second; a session "
        "that sends more is logged out.",
    ),
    (
        "Answers",
        "Answers wait until you read them: with more than "
        f"{MOST_UNSENT_BYTES // 1024:,} KB unsent, the next request logs the session "
        "out.",
    ),
    (
        "Connections",
        "Each CompID has one session at a time. At a second Logon the existing "
        "session is sent a TestRequest. If it answers, the second Logon is refused "
        f"with a text; if it is silent for {ALIVE_SECONDS:.0f} second, it is logged "
        "out and the second Logon is accepted.",
    ),
    (
        "Visibility",
        "If you may no longer see a token, an empty book (268=0) is sent first, "
        "then a SecurityStatus(f) with 326=18, and the subscription ends. The same "
        "two messages are sent for a token that leaves the market.",
    ),
    (
        "Identity",
        "When a token's symbol or ISIN changes, an empty book (268=0) is sent under "
        "the old one, then a W with the new one, in the same subscription.",
    ),
    (
        "End",
        "When its key is revoked or it is switched off, a session is logged out "
        "within 5 seconds; Text(58) gives the reason.",
    ),
)

"""Layouts of the messages about instruments and the state of the market.

Standard library only.
"""

from marketdata.fix.protocol.rules import LONGEST_REQUEST_ID
from marketdata.fix.protocol.tags import ISIN, SYMBOL, Layout, Tag, instrument

YOURS = f"Your id; 1 to {LONGEST_REQUEST_ID} printable ASCII characters."
ACTIONS = "0: once. 1: again whenever the answer changes. 2: end the subscription."
FOUND, TRADED = "with 323=1", "if there was a trade"
ATTRIBUTES = (
    "NAME=VALUE. TICK: smallest price step, euro. TICK_FROM_<price>: the step of "
    "prices from there on. FLOOR, CAP: lowest and highest "
    "price of an order, euro, where there are limits. AUTHORISED: authorised number "
    "of units. MARKET: FED, another venue feeds the book; OWN, the book holds "
    "orders placed here; PRIMARY, the issuer sells it, and there is no book yet."
)


def list_instrument(group: int) -> tuple[Tag, ...]:
    """The tags that describe an instrument to a partner."""
    return (
        *instrument(group),
        Tag(460, "Product", "5: equity.", group=group),
        Tag(
            461,
            "CFICode",
            "ESVUFR for ordinary shares, else by the share class (ISO 10962).",
            group=group,
        ),
        Tag(470, "CountryOfIssue", "The issuer's country.", False, "if known", group),
        Tag(
            207, "SecurityExchange", "The market's MIC.", False, "if it has one", group
        ),
        Tag(106, "Issuer", "The issuer's trading name, in ASCII.", group=group),
        Tag(107, "SecurityDesc", "The token's name, in ASCII.", group=group),
        Tag(870, "NoInstrAttrib", "Number of attributes that follow.", group=group),
        Tag(871, "InstrAttribType", "99: as 872 says.", group=870),
        Tag(872, "InstrAttribValue", ATTRIBUTES, group=870),
        Tag(15, "Currency", "EUR", group=group),
        Tag(
            561,
            "RoundLot",
            "Lot size: quantities must be multiples of it, units.",
            group=group,
        ),
        Tag(562, "MinTradeVol", "As 561.", group=group),
    )


NAMED = (
    Tag(55, "Symbol", f"{SYMBOL}; [N/A] with 48 and 22."),
    Tag(48, "SecurityID", ISIN, False, "with 55=[N/A]"),
    Tag(22, "SecurityIDSource", "4 or 8", False, "with 55=[N/A]"),
)

LAYOUTS = (
    Layout(
        "x",
        "SecurityListRequest",
        "partner",
        "Requests the list of instruments.",
        (
            Tag(320, "SecurityReqID", YOURS),
            Tag(559, "SecurityListRequestType", "0: one instrument. 4: all."),
            Tag(263, "SubscriptionRequestType", ACTIONS, False, "optional"),
            *(tag._replace(always=False, when="with 559=0") for tag in NAMED),
        ),
    ),
    Layout(
        "y",
        "SecurityList",
        "us",
        "The instruments that your integration account may see.",
        (
            Tag(320, "SecurityReqID", "As in your request."),
            Tag(322, "SecurityResponseID", "Ours."),
            Tag(
                560,
                "SecurityRequestResult",
                "0: valid request. 1: unsupported 559. 2: none found.",
            ),
            Tag(
                393,
                "TotNoRelatedSym",
                "Total number of instruments.",
                False,
                "with 560=0",
            ),
            Tag(
                893, "LastFragment", "Y: nothing follows. N: more.", False, "with 560=0"
            ),
            Tag(
                146,
                "NoRelatedSym",
                "Number of instruments in this message.",
                False,
                "with 560=0",
            ),
            *list_instrument(146),
        ),
    ),
    Layout(
        "c",
        "SecurityDefinitionRequest",
        "partner",
        "Requests the definition of an instrument.",
        (
            Tag(320, "SecurityReqID", YOURS),
            Tag(321, "SecurityRequestType", "0: its identity and specifications."),
            *NAMED,
        ),
    ),
    Layout(
        "d",
        "SecurityDefinition",
        "us",
        "An instrument; its fields are those of a SecurityList.",
        (
            Tag(320, "SecurityReqID", "As in your request."),
            Tag(322, "SecurityResponseID", "Ours."),
            Tag(
                323,
                "SecurityResponseType",
                "1: found. 5: unsupported 321. 6: no such instrument that you may see.",
            ),
            *(
                tag if tag.group == 870 else tag._replace(always=False, when=FOUND)
                for tag in list_instrument(0)
            ),
            Tag(58, "Text", "The reason in words.", False, "unless 323=1"),
        ),
    ),
    Layout(
        "e",
        "SecurityStatusRequest",
        "partner",
        "Requests the state of an instrument.",
        (
            Tag(324, "SecurityStatusReqID", YOURS),
            Tag(263, "SubscriptionRequestType", ACTIONS),
            *NAMED,
        ),
    ),
    Layout(
        "f",
        "SecurityStatus",
        "us",
        "The state of an instrument: sent after the first W, when it changes, and in "
        "answer to e.",
        (
            Tag(324, "SecurityStatusReqID", "As in your e.", False, "in answer to e"),
            Tag(55, "Symbol", f"{SYMBOL}."),
            Tag(48, "SecurityID", ISIN, False, "unless 326=20 for an unknown symbol"),
            Tag(22, "SecurityIDSource", "4: ISIN. 8: ours.", False, "with 48"),
            Tag(15, "Currency", "EUR"),
            Tag(325, "UnsolicitedIndicator", "Y: unsolicited. N: in answer to e."),
            Tag(
                326,
                "SecurityTradingStatus",
                "2: halted, orders rest and do not trade. 5: a call, with the price at "
                "which it would end. 17: ready to trade. 18: "
                "not available; the market is closed, the token is on the primary "
                "market, it left the market, or you may no longer see it. 20: unknown; "
                "the book may be out of date, or the symbol does not exist. 21: a "
                "call, in which nothing would trade.",
            ),
            Tag(330, "BuyVolume", "Units bid at this price.", False, "with 326=5"),
            Tag(331, "SellVolume", "Units offered at this price.", False, "with 326=5"),
            Tag(
                332,
                "HighPx",
                "Highest price of the trading day; with 326=5, the price of the call.",
                False,
                TRADED,
            ),
            Tag(
                333,
                "LowPx",
                "Lowest price of the trading day; with 326=5, the price of the call.",
                False,
                TRADED,
            ),
            Tag(31, "LastPx", "Price of the last trade.", False, TRADED),
            Tag(60, "TransactTime", "Time of this status, UTC."),
            Tag(58, "Text", "The reason in words.", False, "unless 326=17"),
        ),
    ),
    Layout(
        "g",
        "TradingSessionStatusRequest",
        "partner",
        "Requests the state of the market.",
        (
            Tag(335, "TradSesReqID", YOURS),
            Tag(336, "TradingSessionID", "DAY", False, "optional"),
            Tag(263, "SubscriptionRequestType", ACTIONS),
        ),
    ),
    Layout(
        "h",
        "TradingSessionStatus",
        "us",
        "The state of the market.",
        (
            Tag(335, "TradSesReqID", "As in your request."),
            Tag(336, "TradingSessionID", "DAY: the one session, all day."),
            Tag(325, "UnsolicitedIndicator", "N"),
            Tag(
                340,
                "TradSesStatus",
                "2: open. 0: unknown, books may be out of date. 6: rejected, 336 is "
                "not DAY.",
            ),
            Tag(567, "TradSesStatusRejReason", "1", False, "with 340=6"),
            Tag(58, "Text", "The reason in words.", False, "unless 340=2"),
        ),
    ),
    Layout(
        "B",
        "News",
        "us",
        "A notice: a planned stop, or a book that you may no longer see.",
        (
            Tag(148, "Headline", "Subject."),
            Tag(33, "LinesOfText", "Number of lines that follow."),
            Tag(58, "Text", "A line.", group=33),
        ),
    ),
)

"""The content of the FIX feed's page, from the acceptor's rules."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from accounts.access import Scope
from marketdata.books.livebook import Facts, LiveBook, TradeRow
from marketdata.books.orderbook import Ladder, Level, difference
from marketdata.fix.acceptor import (
    claims,
    first_message,
    leases,
    listener,
    logon,
    standing_requests,
)
from marketdata.fix.protocol import instruments, messages, rules, statuses
from marketdata.fix.protocol.wire import SOH, encode, utc_timestamp

LOGOUTS = (
    logon.CREDENTIALS_REFUSED,
    logon.SCOPE_REFUSED,
    logon.SWITCHED_OFF,
    logon.ELSEWHERE,
    logon.TOO_MANY_FAILURES,
    logon.KEY_ENDED,
    listener.BUSY,
    listener.NO_DATABASE,
    claims.HELD_ELSEWHERE,
    leases.LOGGED_ON_THERE,
    leases.LOST,
    rules.LOGON_WITHIN,
    rules.TOO_LONG,
    rules.DATA_FIELD,
    rules.LONG_TAG,
    rules.LOGGED_ON_FROM,
    rules.LOGGED_ON_ELSEWHERE,
    rules.TOO_MANY_MESSAGES,
    rules.SLOW_CONSUMER,
    rules.TOO_MANY_TRADES,
    rules.TOO_MANY_ANSWERS,
    rules.PRUNED_EVENTS,
    rules.GOING_DOWN,
    rules.INTERNAL_ERROR,
)

COMP_ID, KEY = "PARTNER001", "service-apikey_acme_SECRET"
OPENING = datetime(2026, 3, 2, 9, tzinfo=UTC)
BEFORE = Ladder((Level(995, 120), Level(990, 40)), (Level(1005, 75), Level(1010, 300)))
AFTER = Ladder((Level(995, 80), Level(985, 500)), (Level(1005, 75), Level(1010, 300)))


class Limit(NamedTuple):
    what: str
    number: str


@dataclass(frozen=True)
class Step:
    """A message of the example, as a partner or we send it."""

    caption: str
    is_ours: bool
    fields: tuple[str, ...]
    """As they go over the wire, each without its SOH."""


LUM = LiveBook(
    UUID("01932f3e-7a00-7000-8000-000000000001"),
    *Facts("LUM", "FR0000120271", "Ordinary A", "", True, "Lumière"),
)
ORB = LiveBook(
    UUID("01932f3e-7a00-7000-8000-000000000002"),
    *Facts("ORB", None, "Ordinary B", "", True, "Orbit"),
)
"""Instruments of the examples."""


def limits() -> list[Limit]:
    numbers = [
        ("Shortest HeartBtInt(108)", f"{settings.FIX_MIN_HEARTBEAT} s"),
        ("Longest HeartBtInt(108)", f"{logon.LONGEST_HEARTBEAT} s"),
        (
            "Largest difference between SendingTime(52) of a Logon and our clock",
            f"{logon.CLOCK_SECONDS} s",
        ),
        (
            "Largest difference between SendingTime(52) "
            "of a later message and our clock",
            f"{rules.CLOCK_SECONDS} s",
        ),
        (
            "Time from the connection to a complete Logon",
            f"{listener.LOGON_SECONDS:.0f} s",
        ),
        (
            "Failed Logons per minute, of a login at an address",
            f"{settings.FIX_FAILED_LOGONS_PER_MINUTE:,}",
        ),
        ("Connections from an address", f"{settings.FIX_CONNECTIONS_PER_ADDRESS:,}"),
        ("Messages you may send per second", f"{settings.FIX_MESSAGES_PER_SECOND:,}"),
        ("Messages you may send at once", f"{rules.MESSAGES_BURST:,}"),
        ("Bytes in a message that you send", f"{rules.LONGEST_MESSAGE:,}"),
        ("Bytes in a Logon", f"{first_message.LOGON_BYTES:,}"),
        ("Subscribed instruments in a session", f"{rules.MOST_SUBSCRIPTIONS:,}"),
        (
            "Other requests with 263=1 in a session",
            f"{standing_requests.MOST_STANDING:,}",
        ),
        ("Instruments in one MarketDataRequest", f"{rules.MOST_INSTRUMENTS:,}"),
        ("Levels per side", f"{rules.DEEPEST:,}"),
        (
            "Characters in MDReqID(262), SecurityReqID(320), "
            "SecurityStatusReqID(324) and TradSesReqID(335)",
            f"{rules.LONGEST_REQUEST_ID:,}",
        ),
        (
            "Shortest time between two updates of a book",
            f"{settings.FIX_CONFLATION_MS:,} ms",
        ),
        (
            "Unread trades before the session ends",
            f"{rules.MOST_UNSENT_TRADES:,}",
        ),
        (
            "Bytes of unread answers before a request ends the session",
            f"{rules.MOST_UNSENT_BYTES:,}",
        ),
        ("Bytes sent before a TestRequest", f"{rules.PROBE_BYTES:,}"),
        ("Unanswered bytes sent before we pause", f"{rules.WINDOW_BYTES:,}"),
        (
            "Time for the answer to a TestRequest before the session ends",
            f"{rules.CREDIT_SECONDS:.0f} s",
        ),
    ]
    return [Limit(*each) for each in numbers]


def logouts() -> list[str]:
    """Text(58) of the Logouts that a partner may get."""
    return [
        text.format(
            per_second=settings.FIX_MESSAGES_PER_SECOND,
            address="your address",
            since="its time",
            tag=96,
            scope=f"{Scope.MARKETDATA_READ}, or of a drop copy {Scope.TRADING_READ}",
            pruned="its number",
        )
        for text in LOGOUTS
    ]


class Conversation:
    """Writes an example session: numbers, times and checksums as they would be."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.numbers = {True: 0, False: 0}

    def add(self, caption: str, is_ours: bool, type_: str, body: str) -> None:
        self.numbers[is_ours] += 1
        at = OPENING + timedelta(milliseconds=137 * len(self.steps))
        sender, target = COMP_ID, settings.FIX_COMP_ID
        if is_ours:
            sender, target = target, sender
        header = [
            *((35, type_), (34, self.numbers[is_ours]), (49, sender)),
            *((52, utc_timestamp(at)), (56, target)),
        ]
        fields = (field.partition("=") for field in body.split(SOH) if field)
        raw = encode([*header, *((int(tag), value) for tag, _, value in fields)])
        self.steps.append(Step(caption, is_ours, tuple(raw.decode().split(SOH)[:-1])))

    def ask(self, caption: str, type_: str, body: str) -> None:
        self.add(caption, False, type_, body.replace("|", SOH))

    def answer(self, caption: str, type_: str, body: str) -> None:
        self.add(caption, True, type_, body)


def conversation() -> list[Step]:
    """A session from Logon to Logout, with what it is for and what it is not for."""
    said = Conversation()
    said.ask("Log on with your key.", "A", f"98=0|108=30|141=Y|554={KEY}")
    said.answer("The session is open.", "A", "98=0\x01108=30\x01141=Y\x01")
    said.ask("List the instruments.", "x", "320=list-1|559=4")
    [listed] = instruments.security_list(
        "list-1", "1", instruments.FOUND, [LUM, ORB], settings.FIX_MIC
    )
    said.answer("Two; the second has no ISIN.", "y", listed)
    said.ask(
        "Subscribe to one: two levels per side, incremental updates, and trades.",
        "V",
        "262=lum-1|263=1|264=2|265=1|267=3|269=0|269=1|269=2|146=1|55=LUM",
    )
    sides = (messages.BIDS, messages.ASKS)
    snapshot = messages.full_refresh(instruments.identity(LUM), BEFORE, OPENING, sides)
    said.answer("The current book.", "W", messages.named("lum-1") + snapshot)
    ready = statuses.TradingStatus(statuses.READY)
    status = statuses.security_status(instruments.identity(LUM), ready, OPENING)
    said.answer("It is ready to trade: its feed is fresh.", "f", status)
    trade = TradeRow(1, 995, 40, OPENING + timedelta(milliseconds=800))
    levels = messages.level_entries(LUM.symbol, difference(BEFORE, AFTER), trade.at)
    trades = messages.trade_entries(LUM.symbol, [trade])
    increment = messages.incremental_refresh([*levels, *trades])
    said.answer(
        "One bid was deleted, one is new, one is smaller: 40 units were sold.",
        "X",
        messages.named("lum-1") + increment,
    )
    said.ask(
        "Request an unknown instrument.",
        "V",
        "262=nope-1|263=0|264=0|267=1|269=0|146=1|55=NOPE",
    )
    reason = f"{rules.MD_REJECT_REASONS['0']}: NOPE"
    reject = messages.request_reject("nope-1", "0", reason)
    said.answer("The whole request is refused.", "Y", reject)
    said.ask(
        "Send an order, which this session does not support.",
        "D",
        "11=order-1|55=LUM|54=1|60=20260302-09:00:01.233|38=10|40=2|44=9.95",
    )
    number = str(said.numbers[False])
    refused = messages.business_reject(number, "D", "order-1")
    said.answer("It is refused.", "j", refused)
    said.answer("A TestRequest: the acceptor checks that you keep up.", "1", "112=P1")
    said.ask("Yes.", "0", "112=P1")
    said.ask(
        "End the subscription.",
        "V",
        "262=lum-1|263=2|264=2|267=1|269=0|146=1|55=LUM",
    )
    said.ask("Log out.", "5", "")
    said.answer("The acceptor does the same, and the connection ends.", "5", "")
    return said.steps


def engine_settings() -> str:
    """The settings of a QuickFIX initiator; other engines have the same."""
    return f"""# Replace SenderCompID, the hosts and the ports.
# Your code sets the key, Password(554), in toAdmin.
# With TLS: SocketUseSSL=Y (QuickFIX/J), SSLEnable=Y (QuickFIX/n), else stunnel.
[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
NonStopSession=Y
ReconnectInterval=5
HeartBtInt=30
ResetOnLogon=Y
UseDataDictionary=Y
DataDictionary=FIX44.xml

[SESSION]
BeginString={rules.BEGIN_STRING}
SenderCompID={COMP_ID}
TargetCompID={settings.FIX_COMP_ID}
SocketConnectHost=127.0.0.1
SocketConnectPort={settings.FIX_PORT}
# The other acceptor, tried when this one does not answer.
SocketConnectHost1=127.0.0.1
SocketConnectPort1={settings.FIX_PORT}
"""

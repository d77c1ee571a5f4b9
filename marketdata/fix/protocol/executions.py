"""ExecutionReports (8) of a drop copy, and the answer (AQ) to what asks for them.

Amounts are euro cents, quantities units. Standard library only.
"""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from marketdata.fix.protocol.instruments import CURRENCY, price
from marketdata.fix.protocol.wire import plain, utc_timestamp

NEW, REPLACED, TRADE, CANCELED, EXPIRED, TRADE_CANCEL = "0", "5", "F", "4", "C", "H"
"""ExecType(150)."""
TYPES = {
    "ORDER_ACCEPTED": NEW,
    "ORDER_AMENDED": REPLACED,
    "ORDER_TRADED": TRADE,
    "ORDER_CANCELLED": CANCELED,
    "ORDER_EXPIRED": EXPIRED,
    "TRADE_BUSTED": TRADE_CANCEL,
}
"""By type of an event: the types of events that a drop copy has."""
TIMES_IN_FORCE = {"DAY": "0", "GTC": "1", "IOC": "3", "FOK": "4", "GTD": "6"}
"""TimeInForce(59)."""
ADDED, REMOVED = "1", "2"
"""LastLiquidityInd(851)."""
MATCHED_TRADES = "1"
"""TradeRequestType(569)."""
SUCCESSFUL, UNSUPPORTED_TYPE, OTHER = "0", "8", "99"
"""TradeRequestResult(749)."""
ACCEPTED, REJECTED = "0", "2"
"""TradeRequestStatus(750)."""
NO_INSTRUMENT = "55=[N/A]\x01"
POSSIBLY_SENT = "97=Y\x01"
"""PossResend: the same report may have been sent before, in another message."""


class Execution(NamedTuple):
    """An event of an order, and the order as it was then.

    `last_price` and `last_quantity` are the event's: of an order's terms, or of a
    trade. `state` is the type of the order's last event but a bust, `filled`,
    `remaining` and `value` are of that event. The reports leave out `busted` units and
    their `busted_value`. `trade` is the number of the trade, `is_maker` whether the
    order had rested, `busts` the event of a busted trade.
    """

    sequence: int
    type: str
    at: datetime
    order: UUID
    account: UUID
    client_order_id: str | None
    identity: str
    side: int
    time_in_force: str
    expires_at: datetime | None
    last_price: int | None
    last_quantity: int | None
    trade: int | None
    is_maker: bool | None
    busts: int | None
    state: str
    filled: int
    remaining: int
    value: int
    busted: int
    busted_value: int
    text: str

    @property
    def status(self) -> str:
        """OrdStatus(39)."""
        if self.state in ("ORDER_CANCELLED", "ORDER_EXPIRED"):
            return TYPES[self.state]
        if not self.remaining:
            return "2"
        return "1" if self.filled else "0"


def average(value: int, quantity: int) -> str:
    """AvgPx(6), rounded half up to a millionth of a euro; 0 without a trade."""
    if not quantity:
        return "0"
    millionths = (20_000 * value + quantity) // (2 * quantity)
    return f"{millionths // 1_000_000}.{millionths % 1_000_000:06d}"


def execution_report(one: Execution) -> str:
    """The body of an 8."""
    type_ = TYPES[one.type]
    cum = one.filled - one.busted
    leaves = one.remaining if one.status in ("0", "1") else 0
    fields = [f"37=Order|{one.order}\x01"]
    if one.client_order_id:
        fields.append(f"11={one.client_order_id}\x01")
    fields.append(f"17={one.sequence}\x01")
    if one.busts is not None:
        fields.append(f"19={one.busts}\x01")
    fields.append(
        f"150={type_}\x0139={one.status}\x011=Account|{one.account}\x01{one.identity}"
        f"54={one.side + 1}\x0138={one.filled + one.remaining}\x0140=2\x01"
    )
    if type_ in (NEW, REPLACED):
        assert one.last_price is not None
        fields.append(f"44={price(one.last_price)}\x01")
    fields.append(f"{CURRENCY}59={TIMES_IN_FORCE[one.time_in_force]}\x01")
    if one.time_in_force == "GTD" and one.expires_at:
        fields.append(f"126={utc_timestamp(one.expires_at)}\x01")
    if one.trade is not None:
        assert one.last_price is not None
        fields.append(
            f"527={one.trade}\x0132={one.last_quantity}\x0131={price(one.last_price)}\x01"
        )
    fields.append(
        f"151={leaves}\x0114={cum}\x01"
        f"6={average(one.value - one.busted_value, cum)}\x01"
        f"60={utc_timestamp(one.at)}\x01"
    )
    if one.is_maker is not None and type_ == TRADE:
        fields.append(f"851={ADDED if one.is_maker else REMOVED}\x01")
    if one.text:
        fields.append(f"58={plain(one.text)}\x01")
    return "".join(fields)


def request_answer(
    request_id: str, request_type: str, result: str = SUCCESSFUL, text: str = ""
) -> str:
    """AQ: TradeRequestResult(749), and why it is not SUCCESSFUL."""
    status = ACCEPTED if result == SUCCESSFUL else REJECTED
    reason = f"58={plain(text)}\x01" if text else ""
    return (
        f"568={request_id}\x01569={request_type}\x01749={result}\x01750={status}\x01"
        f"{NO_INSTRUMENT}{reason}"
    )

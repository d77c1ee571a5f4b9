"""Instruments as partners see them: SecurityList(y), SecurityDefinition(d).

Standard library only.
"""

from collections.abc import Iterable
from typing import Protocol
from uuid import UUID

from marketdata.fix.protocol.rules import INSTRUMENTS_IN_A_MESSAGE
from marketdata.fix.protocol.wire import plain

CURRENCY = "15=EUR\x01"
FOUND, UNSUPPORTED, NONE_FOUND = "0", "1", "2"
"""SecurityRequestResult(560)."""
ACCEPTED, REJECTED, NO_MATCH = "1", "5", "6"
"""SecurityResponseType(323)."""


class Instrument(Protocol):
    """`authorized_units` and `votes_per_share` are None if unknown.

    `is_primary`: the issuer still sells it, and there is no order book.
    `phase` is None if another venue feeds the book. `tick_table` has prices, and the
    tick from each of them on, if there are several ticks. `limits` are the lowest and
    the highest price of an order, cents, if there are limits.
    """

    symbol: str
    isin: str | None
    token_id: UUID
    name: str
    issuer_name: str
    class_type: str | None
    votes_per_share: int | None
    authorized_units: int | None
    country: str | None
    is_primary: bool
    phase: str | None
    tick_cents: int
    tick_table: list[list[int]] | None
    lot_units: int

    @property
    def limits(self) -> tuple[int, int] | None: ...


def price(cents: int) -> str:
    """Euro, with two decimals."""
    return f"{cents // 100}.{cents % 100:02d}"


def identity(instrument: Instrument) -> str:
    """Symbol(55), SecurityID(48) and SecurityIDSource(22)."""
    return identity_of(instrument.symbol, instrument.isin, instrument.token_id)


def identity_of(symbol: str, isin: str | None, token_id: UUID) -> str:
    if isin:
        return f"55={symbol}\x0148={isin}\x0122=4\x01"
    return f"55={symbol}\x0148={token_id}\x0122=8\x01"


def cfi(instrument: Instrument) -> str:
    """CFICode(461), ISO 10962; X for an unknown attribute.

    Equity; voting unless its shares have no vote; for ordinary shares free and fully
    paid; registered.
    """
    voting = "N" if instrument.votes_per_share == 0 else "V"
    if instrument.class_type == "PREFERRED":
        known = voting if instrument.votes_per_share is not None else "X"
        return f"EP{known}XXR"
    return f"ES{voting}UFR"


def attributes(instrument: Instrument) -> list[tuple[str, str]]:
    """Facts without a tag in FIX 4.4."""
    found = [("TICK", price(instrument.tick_cents))]
    for floor, step in instrument.tick_table or ():
        found.append((f"TICK_FROM_{price(floor)}", price(step)))
    if instrument.limits:
        floor, cap = instrument.limits
        found += [("FLOOR", price(floor)), ("CAP", price(cap))]
    if instrument.authorized_units is not None:
        found.append(("AUTHORISED", str(instrument.authorized_units)))
    # The source of the book's orders: another venue, which feeds it, or our partners.
    source = "FED" if instrument.phase is None else "OWN"
    found.append(("MARKET", "PRIMARY" if instrument.is_primary else source))
    return found


def facts(instrument: Instrument, mic: str) -> str:
    """The fields of an instrument from 55 to 872; `mic` may be ""."""
    named = attributes(instrument)
    country = f"470={instrument.country}\x01" if instrument.country else ""
    venue = f"207={mic}\x01" if mic else ""
    extension = "".join(f"871=99\x01872={name}={value}\x01" for name, value in named)
    return (
        f"{identity(instrument)}460=5\x01461={cfi(instrument)}\x01{country}{venue}"
        f"106={plain(instrument.issuer_name)}\x01107={plain(instrument.name)}\x01"
        f"870={len(named)}\x01{extension}"
    )


def entry(instrument: Instrument, mic: str) -> str:
    lot = instrument.lot_units
    return f"{facts(instrument, mic)}{CURRENCY}561={lot}\x01562={lot}\x01"


def security_list(
    request_id: str,
    response_id: str,
    result: str,
    instruments: Iterable[Instrument],
    mic: str,
) -> list[str]:
    """y, in as many parts as needed; without instruments, their number is 0."""
    head = f"320={request_id}\x01322={response_id}\x01560={result}\x01"
    entries = [entry(one, mic) for one in instruments]
    if not entries:
        return [head]
    parts = []
    for start in range(0, len(entries), INSTRUMENTS_IN_A_MESSAGE):
        part = entries[start : start + INSTRUMENTS_IN_A_MESSAGE]
        last = "Y" if start + len(part) == len(entries) else "N"
        parts.append(
            f"{head}393={len(entries)}\x01893={last}\x01"
            f"146={len(part)}\x01{''.join(part)}"
        )
    return parts


def security_definition(
    request_id: str,
    response_id: str,
    response: str,
    instrument: Instrument | None,
    mic: str,
    text: str = "",
) -> str:
    """d: SecurityResponseType(323), and the instrument if it was found."""
    said = entry(instrument, mic) if instrument else ""
    reason = f"58={plain(text)}\x01" if text else ""
    # No dictionary that checks the order has Text(58) before RoundLot(561).
    head = f"320={request_id}\x01322={response_id}\x01323={response}\x01"
    return f"{head}{said}{reason}"

"""Opens markets, and moves them from phase to phase.

A session opens and closes by the clock (`move_due`); staff halt a market, and with a
second person reopen it by an auction.
"""

import logging
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction

from accounts.approvals.four_eyes import Preview, Superseded
from accounts.approvals.models import ApprovalRequest
from issuers.register.approvals import token_facts, token_links
from marketdata.books.notify import notify
from marketdata.models import OrderBookHead
from marketdata.trading import locked, moving, uncrossing
from marketdata.trading.market import expire
from marketdata.trading.models import Market, Phase, TradingModel
from marketdata.trading.moving import CHANGE, is_due, reference
from marketdata.trading.parameters import in_force
from marketdata.trading.sessions import Session
from partnerapi.core.database import execute, value_of
from partnerapi.core.lock_waits import LockTimeout, name_locked_row
from partnerapi.core.money import euros

logger = logging.getLogger(__name__)

TICK_CENTS, LOT_UNITS, COLLAR_BPS = 1, 1, 2_000


class PhaseRefused(Exception):
    """The market cannot open or enter this phase. The message says why."""


def open_market(
    token_id: UUID,
    session: Session,
    actor: str,
    tick_cents: int = TICK_CENTS,
    lot_units: int = LOT_UNITS,
    collar_bps: int = COLLAR_BPS,
    reference_price: int | None = None,
) -> None:
    """Turn a token's book permanently into an internal market, CLOSED at first.

    One message removes the fed levels from the book. One beat later the session's phase
    begins, if a session is open.

    Raises:
        PhaseRefused
    """
    with transaction.atomic(), connection.cursor() as cursor:
        head = OrderBookHead.objects.filter(token=token_id).first()
        if head is None or head.source == OrderBookHead.Source.OWN:
            raise PhaseRefused(
                "Only a token on the secondary market with a book fed from outside "
                "can get an internal market."
            )
        if reference_price is None and reference(token_id) is None:
            raise PhaseRefused(
                "The token has no price yet: give a reference price in cents."
            )
        cursor.execute("SELECT clock_timestamp()")
        [(at,)] = cursor.fetchall()
        arguments: list[Any] = [
            token_id, session.opens, session.closes, session.weekdays_only,
            session.begins(at), tick_cents, lot_units, collar_bps, reference_price,
            actor,
        ]  # fmt: skip
        cursor.execute(OPEN, arguments)
    transaction.on_commit(partial(notify, token_id))


def change_phase(token_id: UUID, phase: str, actor: str, reason: str = "") -> None:
    """Move a market to a phase; leaving HALTED must carry an approved request.

    A CALL lasts from four and a half to five and a half minutes, or in a market of
    fixings until the next one, but not beyond the session. The reference price of a
    market that becomes CONTINUOUS is the price of its last trade, else the token's. One
    that closes ends the orders of the day. After a halt a market trades in an auction
    first, also where it closes in between.

    Raises:
        PhaseRefused: there is no such move, no reference price, no open session, or
            the market opens with a CALL.
    """
    with transaction.atomic():
        book = locked.books([token_id])[token_id]
        at = value_of("SELECT clock_timestamp()")
        # A closed market may already have the parameters of its next opening.
        held = in_force(at).get(token=token_id)
        if phase == Phase.CONTINUOUS and held.model == TradingModel.FIXING:
            raise PhaseRefused("The market trades by fixings: it opens with a CALL.")
        opening = value_of("SELECT trading_opening(%s, %s)", [token_id, held.model])
        if phase == Phase.CONTINUOUS and opening == Phase.CALL:
            raise PhaseRefused(
                "A market opens with a CALL after a halt, and where orders may cross."
            )
        if phase not in MOVES[Phase(book.phase)]:
            raise PhaseRefused(f"A market that is {book.phase} cannot become {phase}.")
        if phase == Phase.HALTED and not reason:
            raise PhaseRefused("Give the reason for the halt.")
        if phase in (Phase.CALL, Phase.CONTINUOUS):
            if not held.session.is_open(at):
                raise PhaseRefused(
                    "The market accepts orders only in its session, which begins at "
                    f"{held.session.next_open(at):%Y-%m-%d %H:%M} "
                    f"({settings.MARKET_TIME_ZONE}). Until then it can only be "
                    "CLOSED."
                )
            if not (reference(token_id) or book.reference):
                raise PhaseRefused("There is no reference price for limits.")
        execute(CHANGE, [token_id, phase, reason, actor])
        if phase == Phase.CLOSED:
            expire(token_id)
    transaction.on_commit(partial(notify, token_id))


MOVES: dict[Phase, set[Phase]] = {
    Phase.CLOSED: {Phase.CALL, Phase.CONTINUOUS, Phase.HALTED},
    Phase.CALL: {Phase.HALTED},
    Phase.AT_LAST: {Phase.CALL, Phase.CLOSED, Phase.HALTED},
    Phase.CONTINUOUS: {Phase.CALL, Phase.CLOSED, Phase.HALTED},
    Phase.HALTED: {Phase.CALL, Phase.CLOSED},
}
"""The moves by staff; those out of HALTED need a second person. A CALL ends by its
auction."""


def uncross_due() -> bool:
    """Take a step of each auction that is due; whether one needs another step.

    One that the database refuses waits, and the others go on.
    """
    is_left = False
    for token_id in uncrossing.due():
        try:
            with name_locked_row():
                is_left |= uncrossing.end(token_id)
        except (LockTimeout, IntegrityError) as refusal:
            logger.error("The auction of %s waits: %s", token_id, refusal)
    return is_left


def move_due() -> int:
    """Move the markets whose next phase is due; return their number.

    A session that nothing opened before its end is left out. A move that the database
    refuses waits, and the others go on.
    """
    moved = 0
    at = value_of("SELECT clock_timestamp()")
    for market in Market.objects.filter(next_phase_at__lte=at).order_by("token_id"):
        if not is_due(market, at):
            continue
        try:
            with name_locked_row():
                moved += move(market.token_id)
        except (LockTimeout, IntegrityError) as refusal:
            logger.error(
                "The market of %s did not change phase: %s", market.token, refusal
            )
    return moved


def move(token_id: UUID) -> bool:
    """Move a market if it is still due under its lock; whether it has moved."""
    with transaction.atomic():
        phase = moving.move(token_id)
        if phase == Phase.CLOSED:
            expire(token_id)
    return phase is not None


OPEN = "SELECT trading_open(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"


def reopening_content(market: Market, phase: str) -> dict[str, Any]:
    """The content of a request to reopen a market; each halt needs its own request."""
    return {
        "token": str(market.token_id),
        "phase": phase,
        "halted": market.last_phase_event,
    }


def reopening_title(market: Market, phase: str) -> str:
    symbol = market.token.symbol
    return f"Reopening of the market of {symbol} as {Phase(phase).label.lower()}"


class ReopenMarket:
    """A request to reopen a halted market; superseded once that halt has ended."""

    def preview(self, request: ApprovalRequest) -> Preview:
        market, phase = self.market(request), request.content["phase"]
        reference = market.reference_price
        rows = [
            *token_facts(market.token),
            ("Market", "", str(market)),
            ("Reason of the halt", "", market.halt_reason),
            ("Halted since", "", f"{market.phase_since:%Y-%m-%d %H:%M} UTC"),
            ("Reference price", "", euros(reference) if reference else "none"),
            ("Phase", market.get_phase_display(), Phase(phase).label),
        ]
        return Preview(rows, links=token_links(market.token) | {"Market": market})

    def execute(self, request: ApprovalRequest) -> None:
        market = self.market(request)
        try:
            change_phase(
                market.token_id,
                request.content["phase"],
                request.filed_by.email or "",
                request.reason,
            )
        except PhaseRefused as error:
            raise Superseded(str(error)) from None

    def market(self, request: ApprovalRequest) -> Market:
        content = request.content
        market = Market.objects.select_related("token__issuer").get(
            token=content["token"]
        )
        if (market.phase, market.last_phase_event) != ("HALTED", content["halted"]):
            raise Superseded("The market is no longer halted, or was halted again.")
        return market

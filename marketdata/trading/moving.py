"""Moves a market to the phases that are due by the clock, under its book's lock.

The market clock moves each market, and an order that comes before the clock has done so
moves its own: orders are judged by their time, whatever phase is stored.
"""

from datetime import datetime
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from issuers.register.models import TokenLedgerHead
from marketdata.books.notify import notify
from marketdata.trading import locked
from marketdata.trading.locked import Book
from marketdata.trading.models import Execution, Market, Phase
from partnerapi.core.database import execute, value_of

CLOCK = "market"
"""The actor of what happens by the clock."""


def is_due(market: Market | Book, at: datetime) -> bool:
    """Whether its next phase begins by the clock; a call ends by its auction."""
    return (
        market.next_phase_at is not None
        and market.next_phase_at <= at
        and market.phase != Phase.CALL
        and (due_phase(market, at) == Phase.CLOSED or market.session.is_open(at))
    )


def due_phase(market: Market | Book, at: datetime) -> str | None:
    """The phase that follows by the clock: a call missed in its session is left out."""
    trades = market.phase in (Phase.AT_LAST, Phase.CONTINUOUS)
    is_past = trades and not market.session.is_open(at)
    return Phase.CLOSED if is_past else market.next_phase


def move(token_id: UUID) -> str | None:
    """Move a market if it is still due under its lock; return the phase."""
    with transaction.atomic():
        book = locked.books([token_id])[token_id]
        at = value_of("SELECT clock_timestamp()")
        if not is_due(book, at):
            return None
        phase = due_phase(book, at)
        execute(CHANGE, [token_id, phase, "", CLOCK])
    transaction.on_commit(partial(notify, token_id))
    return phase


def catch_up(token_id: UUID) -> None:
    """Move a market through all phases that are due."""
    while move(token_id):
        pass


def standing(token_id: UUID) -> QuerySet[Execution]:
    """The trades of a market that stand, the last one first."""
    found = Execution.objects.filter(token=token_id).extra(where=[STANDS])
    return found.order_by("-sequence")


def reference(token_id: UUID) -> int | None:
    """The price of the last trade that stands, else the token's; cents."""
    last = standing(token_id).first()
    if last is not None:
        return last.price
    return TokenLedgerHead.objects.values_list("price_cents", flat=True).get(
        token=token_id
    )


STANDS = """NOT EXISTS (SELECT FROM trading_bust b
    WHERE b.token_id = trading_execution.token_id
        AND b.sequence = trading_execution.sequence)"""
# The database determines the phase that follows, and the reference price of limits.
CHANGE = "SELECT trading_change_phase(%s, %s, NULL, NULL, NULL, %s, %s)"

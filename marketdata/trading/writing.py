"""Writes the steps of a round: `trading_write` derives the rows, and judges them."""

import logging
from collections.abc import Iterator, Sequence
from functools import partial

from django.db import transaction

from issuers.register.errors import LedgerError
from issuers.register.ledger import UNPRICED, Price
from issuers.register.models import TokenPrice
from marketdata.books.notify import notify
from marketdata.trading.models import OrderEvent
from marketdata.trading.round import Round, Step
from partnerapi.core.database import array_text, array_text_or_null, fetch

logger = logging.getLogger(__name__)

MOST_STEPS = 5_000
"""Of a call."""


class Diverged(Exception):
    """The database numbers the events of a round otherwise than the round does."""


def write(of: Round) -> None:
    if not of.steps:
        return
    is_priced = bool(of.executions) and is_price_taken(of)
    paid: list[int] = []
    for steps in parts(of):
        [(event, trade, entry, payments)] = fetch(
            WRITE, arguments(of, steps, is_priced), tuple
        )
        paid += payments
    expected = (of.book.event, of.book.trade, of.ledger.seq)
    if (event, trade, entry) != expected:
        raise Diverged(f"{(event, trade, entry)} are not {expected}.")
    for execution, payment in zip(of.executions, paid, strict=True):
        execution.cash_transaction = payment
    transaction.on_commit(partial(notify, of.book.token_id))


def parts(of: Round) -> Iterator[Sequence[Step]]:
    """The steps by call: what interrupts a market is the last step of its call."""
    end = len(of.steps)
    if of.interrupted is not None:
        end = sum(step.message <= of.interrupted for step in of.steps)
    yield from calls(of.steps[:end])
    yield from calls(of.steps[end:])


def calls(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Steps by call; those of a message go together."""
    while len(steps) > MOST_STEPS:
        end = MOST_STEPS
        while end and steps[end - 1].message == steps[end].message:
            end -= 1
        end = end or len(steps)
        yield steps[:end]
        steps = steps[end:]
    if steps:
        yield steps


def arguments(of: Round, steps: Sequence[Step], is_priced: bool) -> list[object]:
    kinds, orders, messages, units, limits, reasons, actors = zip(*steps, strict=True)
    new = [
        of.new[step.order_id]
        for step in steps
        if step.kind == OrderEvent.Kind.ORDER_ACCEPTED
    ]
    return [
        of.book.token_id, of.at, array_text(kinds), array_text(orders),
        array_text(messages), array_text_or_null(units), array_text_or_null(limits),
        array_text_or_null(reasons), list(actors), is_priced,
        array_text(order.pk for order in new),
        array_text(order.account_id for order in new),
        array_text(order.side for order in new),
        array_text(order.time_in_force for order in new),
        [order.expires_at for order in new],
        [order.client_order_id for order in new],
    ]  # fmt: skip


def is_price_taken(of: Round) -> bool:
    """Whether the last trade's price becomes the token's; if not, the trade stands."""
    last = Price(of.book.token_id, of.executions[-1].price, TokenPrice.Source.TRADE)
    try:
        of.writer.price(last, of.moved)
    except LedgerError as error:
        logger.error(UNPRICED, error)
        return False
    return True


WRITE = """
    SELECT last_event, last_trade, last_entry, payments
    FROM trading_write(%s, %s, %s::text[], %s::uuid[], %s::integer[], %s::bigint[],
        %s::bigint[], %s::text[], %s::text[], %s, %s::uuid[], %s::uuid[],
        %s::smallint[], %s::text[], %s::timestamptz[], %s::text[])
"""

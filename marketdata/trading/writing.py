"""Writes the results of a round, in a constant number of statements.

The guards (the migrations) set the order: reductions come first, so that at no
statement anyone holds more than exists, and the market's log comes last.
"""

import logging
from collections.abc import Iterable
from functools import partial

from django.db import transaction

from accounts.cash.writer import write_each
from issuers.register.errors import LedgerError
from issuers.register.ledger import UNPRICED, Price
from issuers.register.models import TokenPrice
from marketdata.books import log
from marketdata.books.notify import notify
from marketdata.models import BookLevel
from marketdata.trading.models import Execution, Order
from marketdata.trading.round import Round
from partnerapi.core.database import array_text, copy, fetch

logger = logging.getLogger(__name__)


def write(of: Round) -> None:
    # An amended order is alone in its round, so it only pays, or only sells.
    update([*of.changed.values(), *of.amended])
    of.writer.open()
    of.writer.flush()
    for execution, payment in zip(
        of.executions, write_each(of.payments, of.moved), strict=True
    ):
        execution.cash_transaction = payment
    if of.new:
        rows = (values(order, ORDER_COLUMNS) for order in of.new.values())
        copy("trading_order", ORDER_COLUMNS, rows)
    if of.executions:
        rows = (values(execution, EXECUTION_COLUMNS) for execution in of.executions)
        copy("trading_execution", EXECUTION_COLUMNS, rows)
    if of.messages:
        record(of)
    if of.executions:
        price(of)
    if of.events:
        copy("trading_orderevent", EVENT_COLUMNS, of.events)
    transaction.on_commit(partial(notify, of.book.token_id))


def update(orders: Iterable[Order]) -> None:
    """Write the present state of the earlier orders."""
    rows = [values(order, CHANGEABLE) for order in orders]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        fetch(UPDATE, columns, tuple)


def record(of: Round) -> None:
    """Append to the log of the book, with its next snapshot if due."""
    book = of.book
    rows = log.Rows(of.messages)
    last = book.sequence + len(rows.prices)
    is_due = last >= book.snapshot + log.SNAPSHOT_EVERY
    if is_due:
        # All snapshots of a deep book together are no larger than its log.
        levels = BookLevel.objects.filter(token=book.token_id).count()
        is_due = last >= book.snapshot + levels
    columns = (
        rows.sides, rows.prices, rows.quantities, rows.ends,
        rows.deal_prices, rows.deal_quantities,
    )  # fmt: skip
    texts = [array_text(column) for column in columns]
    recorded = fetch(log.RECORD, [book.token_id, book.sequence, *texts, is_due], tuple)
    assert recorded, "a locked head does not move"


def price(of: Round) -> None:
    """Make the last trade's price the token's. If it is refused, the trade stands."""
    last = Price(of.book.token_id, of.executions[-1].price, TokenPrice.Source.TRADE)
    try:
        of.writer.price(last, of.moved)
    except LedgerError as error:
        logger.error(UNPRICED, error)
    of.writer.flush()


def values(row: Order | Execution, columns: tuple[str, ...]) -> list[object]:
    return [getattr(row, column) for column in columns]


ORDER_COLUMNS = tuple(field.attname for field in Order._meta.concrete_fields)
EXECUTION_COLUMNS = (
    "token_id", "sequence", "buy_order_id", "sell_order_id", "buyer_account_id",
    "seller_account_id", "price", "quantity", "aggressor", "ledger_seq",
    "cash_transaction", "event", "at",
)  # fmt: skip
EVENT_COLUMNS = (
    "token_id", "number", "kind", "order_id", "price", "quantity", "filled",
    "remaining", "value", "priority", "trade", "phase", "reason", "actor", "at",
)  # fmt: skip
CHANGEABLE = (
    "id", "limit_price", "quantity", "filled", "filled_value", "status",
    "status_reason", "priority", "version", "last_event", "updated_at",
)  # fmt: skip
UPDATE = """
    UPDATE trading_order o SET limit_price = u.limit_price, quantity = u.quantity,
        filled = u.filled, filled_value = u.filled_value, status = u.status,
        status_reason = u.status_reason, priority = u.priority, version = u.version,
        last_event = u.last_event, updated_at = u.updated_at
    FROM unnest(%s::uuid[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],
        %s::text[], %s::text[], %s::bigint[], %s::integer[], %s::bigint[],
        %s::timestamptz[])
        AS u (id, limit_price, quantity, filled, filled_value, status, status_reason,
            priority, version, last_event, updated_at)
    WHERE o.id = u.id RETURNING o.id
"""

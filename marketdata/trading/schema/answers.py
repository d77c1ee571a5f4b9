"""Orders and executions as the writer holds them, in the answers of mutations.

They are answered from memory: nothing is read while the book is held but what the
document selects below them.
"""

from collections.abc import Sequence
from datetime import datetime
from hashlib import md5
from typing import NamedTuple
from uuid import UUID

from marketdata.trading.models import Execution, Order

COLUMNS = (
    "side", "limit_price", "quantity", "filled", "filled_value", "time_in_force",
    "expires_at", "status", "status_reason", "version", "client_order_id", "created_at",
    "updated_at",
)  # fmt: skip


class OrderRow:
    """An order's columns; ids are text, as in rows that are read."""

    graphql_type = "Order"

    def __init__(self, order: Order) -> None:
        self.id = str(order.pk)
        self.account_id = str(order.account_id)
        self.token_id = str(order.token_id)
        for name in COLUMNS:
            setattr(self, name, getattr(order, name))


class ExecutionRow(NamedTuple):
    """A fill's columns, likewise."""

    id: str
    order_id: str
    token_id: str
    sequence: int
    side: int
    price: int
    quantity: int
    value: int
    liquidity: str
    ledger_seq: int
    at: datetime
    fee_net: int
    fee_vat: int
    busted_at: None = None


def execution_rows(order: Order, executions: Sequence[Execution]) -> list[ExecutionRow]:
    """The executions of an order that has just traded, as its side has them."""
    return [
        ExecutionRow(
            fill_id(order.token_id, execution.sequence, order.side),
            str(order.pk),
            str(order.token_id),
            execution.sequence,
            order.side,
            execution.price,
            execution.quantity,
            execution.price * execution.quantity,
            "TAKER" if execution.aggressor == order.side else "MAKER",
            execution.ledger_seq,
            execution.at,
            *execution.fees[order.side],
        )
        for execution in executions
    ]


def fill_id(token_id: UUID, trade: int, side: int) -> str:
    """As the view derives it."""
    text = f"{token_id} {trade} {int(side)}"
    return str(UUID(md5(text.encode(), usedforsecurity=False).hexdigest()))

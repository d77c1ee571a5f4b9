"""Orders and executions as the writer holds them, in the answers of mutations.

They are answered from memory: nothing is read while the book is held but what the
document selects below them.
"""

from hashlib import md5
from typing import NamedTuple
from uuid import UUID

from issuers.compliance.judge import Refusal
from marketdata.trading.models import Order

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
    at: object
    busted_at: None = None


def execution_rows(order: Order, fills) -> list[ExecutionRow]:
    """The executions of an order that has just traded."""
    return [
        ExecutionRow(
            fill_id(order.token_id, fill.trade, order.side),
            str(order.pk),
            str(order.token_id),
            fill.trade,
            order.side,
            fill.price,
            fill.quantity,
            fill.price * fill.quantity,
            fill.liquidity,
            fill.ledger_seq,
            fill.at,
        )
        for fill in fills
    ]


def fill_id(token_id: UUID, trade: int, side: int) -> str:
    """As the view derives it."""
    text = f"{token_id} {trade} {int(side)}"
    return str(UUID(md5(text.encode(), usedforsecurity=False).hexdigest()))


def refusals_of(error) -> list[Refusal]:
    """The rules that an order was refused by; of other refusals none."""
    told = [dict(said) for said in error.details.get("refusals", ())]
    return [Refusal(said.pop("code"), said) for said in told]

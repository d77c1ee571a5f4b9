"""Executions that others than orders and accounts name, each in one statement."""

from accounts.access import Scope, requires
from marketdata.trading.schema.orders import Execution
from marketdata.trading.telling import Fill
from partnerapi.core.database import array_text, fetch
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import row_class
from partnerapi.graphql.resolvers import needs

COLUMNS = (
    "at", "busted_at", "id", "ledger_seq", "liquidity", "order_id", "price", "quantity",
    "sequence", "side", "token_id", "value",
)  # fmt: skip
ROW = row_class("Execution", "", (), frozenset(COLUMNS))
TEXTS = {"at", "busted_at", "id", "order_id", "token_id"}
LISTED = ", ".join(f"f.{c}::text" if c in TEXTS else f"f.{c}" for c in COLUMNS)
FILLS = f"""
    SELECT 0, {LISTED}
    FROM unnest(%s::uuid[], %s::bigint[]) AS wanted (order_id, sequence)
    JOIN {Fill._meta.db_table} f USING (order_id, sequence)
"""
# Of a payment, as the side of the one who pays (0) or is paid (1) has it.
PAID = f"""
    SELECT 0, {LISTED}, e.cash_transaction
    FROM unnest(%s::bigint[], %s::smallint[]) AS wanted (payment, side)
    JOIN trading_execution e ON e.cash_transaction = wanted.payment
    JOIN {Fill._meta.db_table} f ON f.token_id = e.token_id
        AND f.sequence = e.sequence AND f.side = wanted.side
"""


def fills_of_orders(wanted):
    """By an order's id and a trade's number, the executions of these pairs."""
    orders, trades = zip(*wanted, strict=True)
    rows = fetch(FILLS, [array_text(orders), array_text(trades)], ROW)
    return {(row.order_id, row.sequence): row for row in rows}


@requires(Scope.TRADING_READ)
@needs("transaction_id", "delta", "transaction__kind")
def read_paid(entries, info):
    wanted = {side_of(e) for e in entries if e.transaction__kind == "TRADE"}
    if not wanted:
        return [None for _ in entries]
    payments, sides = zip(*wanted, strict=True)
    rows = fetch(PAID, [array_text(payments), array_text(sides)], tuple)
    found = {(row[-1], ROW(row).side): ROW(row) for row in rows}
    return [found.get(side_of(entry)) for entry in entries]


def side_of(entry):
    return entry.transaction_id, 0 if entry.delta < 0 else 1


EXECUTION_OF_ENTRY = Field(
    Execution,
    cost=FOUND,
    resolver=read_paid,
    description="For a TRADE, your side of it; otherwise null. Needs the scope "
    "`trading:read`.",
)
"""The field `execution` of a change of cash."""

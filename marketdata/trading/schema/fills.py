"""Executions that others than orders and accounts name, each in one statement."""

from accounts.access import Scope, requires
from marketdata.trading.schema.orders import Execution
from marketdata.trading.telling import Fill
from partnerapi.core.database import array_text, fetch
from partnerapi.graphql.cost import FOUND, Field
from partnerapi.graphql.pages import row_class
from partnerapi.graphql.resolvers import needs

COLUMNS = (
    "at", "busted_at", "fee_net", "fee_vat", "id", "ledger_seq", "liquidity",
    "order_id", "price", "quantity", "sequence", "side", "token_id", "value",
)  # fmt: skip
ROW = row_class("Execution", "", (), frozenset(COLUMNS))
TEXTS = {"at", "busted_at", "id", "order_id", "token_id"}
LISTED = ", ".join(f"f.{c}::text" if c in TEXTS else f"f.{c}" for c in COLUMNS)
FILLS = f"""
    SELECT 0, {LISTED}
    FROM unnest(%s::uuid[], %s::bigint[]) AS wanted (order_id, sequence)
    JOIN {Fill._meta.db_table} f USING (order_id, sequence)
"""
# Of a payment, as the side of the one who pays (0) or is paid (1) has it. Of a payment
# of a fee (-1), as the side that paid it or got it back.
PAID = f"""
    SELECT 0, {LISTED}, e.payment, wanted.side
    FROM unnest(%s::bigint[], %s::smallint[]) AS wanted (payment, side)
    JOIN LATERAL (
        SELECT x.token_id, x.sequence, wanted.side, wanted.payment
        FROM trading_execution x
        WHERE wanted.side >= 0 AND x.cash_transaction = wanted.payment
        UNION ALL
        SELECT x.token_id, x.sequence, x.side, wanted.payment
        FROM trading_executionfee x
        WHERE wanted.side < 0 AND x.cash_transaction = wanted.payment
    ) e ON TRUE
    JOIN {Fill._meta.db_table} f ON f.token_id = e.token_id
        AND f.sequence = e.sequence AND f.side = e.side
"""


def fills_of_orders(wanted):
    """By an order's id and a trade's number, the executions of these pairs."""
    orders, trades = zip(*wanted, strict=True)
    rows = fetch(FILLS, [array_text(orders), array_text(trades)], ROW)
    return {(row.order_id, row.sequence): row for row in rows}


@requires(Scope.TRADING_READ)
@needs("transaction_id", "delta", "transaction__kind")
def read_paid(entries, info):
    wanted = {side_of(e) for e in entries if e.transaction__kind in ("TRADE", "FEE")}
    if not wanted:
        return [None for _ in entries]
    payments, sides = zip(*wanted, strict=True)
    rows = fetch(PAID, [array_text(payments), array_text(sides)], tuple)
    found = {row[-2:]: ROW(row) for row in rows}
    return [found.get(side_of(entry)) for entry in entries]


def side_of(entry):
    if entry.transaction__kind == "FEE":
        return entry.transaction_id, -1
    return entry.transaction_id, 0 if entry.delta < 0 else 1


EXECUTION_OF_ENTRY = Field(
    Execution,
    cost=FOUND,
    resolver=read_paid,
    description="For a TRADE or a FEE, your side of it; otherwise null. Needs "
    "the scope `trading:read`.",
)
"""The field `execution` of a change of cash."""

"""How many orders partners send to a market on a day, and how many trades they bring.

Each placing, amendment and cancellation counts as one order, as for the ratio of
unexecuted orders to transactions of Regulation (EU) 2017/566.
"""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from partnerapi.core.database import array_text, fetch


class Activity(NamedTuple):
    """How many orders were sent, and their fills so far.

    A trade between clients of one partner is a fill of two orders.
    """

    orders: int
    trades: int

    @property
    def ratio(self) -> float | None:
        """Unexecuted orders for each trade, to two decimals; None without a trade."""
        return round(self.orders / self.trades - 1, 2) if self.trades else None


def activity(
    token_ids: Collection[UUID | str],
    partner_ids: Collection[UUID | str],
    since: datetime,
) -> dict[tuple[UUID, UUID], Activity]:
    """By token and partner, for partners with orders placed since an instant."""
    values = [array_text(token_ids), array_text(partner_ids), since]
    found = {
        (token, partner): Activity(orders, 0)
        for token, partner, orders in fetch(ORDERS, values, tuple)
    }
    for token, partner, trades in fetch(TRADES, values, tuple):
        found[token, partner] = found[token, partner]._replace(trades=trades)
    return found


ORDERS = """
    SELECT o.token_id, o.partner_id, (sum(o.version)
        + count(*) FILTER (WHERE o.status_reason = 'BY_PARTNER'))::bigint
    FROM unnest(%s::uuid[]) AS t (id) CROSS JOIN unnest(%s::uuid[]) AS p (id)
    JOIN trading_order o ON o.partner_id = p.id AND o.token_id = t.id
    WHERE o.created_at >= %s GROUP BY 1, 2
"""
TRADES = """
    SELECT o.token_id, o.partner_id, count(*)
    FROM unnest(%s::uuid[]) AS t (id) CROSS JOIN unnest(%s::uuid[]) AS p (id)
    JOIN trading_order o ON o.partner_id = p.id AND o.token_id = t.id
    CROSS JOIN LATERAL (
        SELECT FROM trading_execution e WHERE e.buy_order_id = o.id
        UNION ALL SELECT FROM trading_execution e WHERE e.sell_order_id = o.id
    ) traded
    WHERE o.created_at >= %s GROUP BY 1, 2
"""

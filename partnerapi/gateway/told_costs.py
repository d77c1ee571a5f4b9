"""A request's cost, as answers report it to callers that send `X-Cost-Debug: 1`."""

from collections import Counter
from typing import Any

from django.conf import settings

from partnerapi.gateway.bills import Bill
from partnerapi.gateway.clock import Running
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.field_costs import Path, field_costs

MOST_FIELDS = 100
"""Fields whose points `extensions.cost` tells one by one, the costliest first."""


def told_cost(
    bill: Bill, weight: int, prepared: PreparedRequest | None, running: Running
) -> dict[str, Any]:
    """`extensions.cost`, by the names that partners know.

    `weight` is what the body costs, points; `prepared` is None for a document that was
    refused, which has no fields: its error tells those that cost too much. `fields`,
    `otherFields`, `document`, `body`, `late` and `unread`, which is 0 or below, add up
    to `price`; `holders` is `late` by the name that it had. `time` is the server time
    of the request until then, seconds.
    """
    assert bill.budget is not None
    return {
        "price": bill.points,
        "limit": bill.budget.limit,
        "remaining": bill.budget.remaining,
        "refillPerSecond": bill.budget.refill_per_second,
        **parts(bill, weight, prepared),
        "time": round(running.meter.seconds, 3),
        "timeRemaining": round(running.left, 3),
    }


def parts(bill: Bill, weight: int, prepared: PreparedRequest | None) -> dict[str, Any]:
    costs = Counter[Path]()
    price = bill.points - weight
    if prepared is not None:
        costs = field_costs(prepared.plan.selection, prepared.variables)
        costs.pop((), None)
        # What may be asked can be paid by a full budget, however long it is.
        price = min(prepared.price, settings.PARTNER_API_MAX_COST)
        weight = min(weight, settings.PARTNER_API_MAX_COST - price)
    late = bill.points + bill.returned - price - weight
    told = costs.most_common(MOST_FIELDS)
    return {
        "fields": [{"path": ".".join(p), "points": points} for p, points in told],
        "otherFields": costs.total() - sum(points for _, points in told),
        "document": price - costs.total(),
        "body": weight,
        "late": late,
        "holders": late,
        "unread": -bill.returned,
    }

"""A request's cost, as answers report it to callers that ask with X-Cost-Debug."""

from typing import Any

from partnerapi.gateway.bills import Bill
from partnerapi.gateway.clock import Running
from partnerapi.graphql.documents import PreparedRequest
from partnerapi.graphql.field_costs import dearest_fields


def told_cost(
    bill: Bill, weight: int, prepared: PreparedRequest | None, running: Running
) -> dict[str, Any]:
    """`extensions.cost`, by the names that partners know.

    `weight` is what the body costs, points; `prepared` is None for a document that was
    refused, whose error names the fields that cost too much. `time` is the server time
    of the request until then, seconds.
    """
    assert bill.budget is not None
    fields: list[dict[str, Any]] = []
    if prepared is not None:
        fields = dearest_fields(prepared.plan.selection, prepared.variables)
    return {
        "price": bill.points,
        "held": bill.held,
        "fields": fields,
        "body": weight,
        "limit": bill.budget.limit,
        "remaining": bill.budget.remaining,
        "refillPerSecond": bill.budget.refill_per_second,
        "time": round(running.meter.seconds, 3),
        "timeRemaining": round(running.left, 3),
    }

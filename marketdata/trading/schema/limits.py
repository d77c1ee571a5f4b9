"""The limits of a partner's orders."""

import graphene

from marketdata.trading.limits import limits_of
from partnerapi.graphql.cost import OBJECT, Field
from partnerapi.graphql.scalars import Uint64


class OrderLimits(graphene.ObjectType):
    """Limits of your orders; null where there is none."""

    orders_per_second = graphene.Int(
        description="Orders that you may place in a second: others are refused with "
        "ORDER_RATE_EXCEEDED."
    )
    open_value = Uint64(
        description="Value that your open orders may have together with a new one, "
        "euro cents: others are refused with OPEN_VALUE_EXCEEDED."
    )


def resolve_order_limits(callers, info):
    return [next(iter(limits_of(caller)), None) for caller in callers]


ORDER_LIMITS = Field(
    OrderLimits,
    cost=OBJECT,
    resolver=resolve_order_limits,
    description="Limits that staff have set for your orders; null if there are none.",
)
"""The field `orderLimits` of the viewer."""

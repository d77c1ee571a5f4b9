"""What a request costs, and whose budget pays for it."""

from django.conf import settings
from django.http import HttpRequest

from accounts.access import Caller
from accounts.keys.models import Partner
from partnerapi.core.addresses import source_of
from partnerapi.gateway import throttling
from partnerapi.gateway.refusals import Throttled
from partnerapi.gateway.requests import address_of
from partnerapi.gateway.throttling import Budget
from partnerapi.graphql.cost import LEAST

MOST_REFUSED_COST = 1_000
"""Most points of a refusal: any budget that is full can pay for it."""
FREE_KILOBYTES = 2
STOPS_A_MINUTE = 10
"""Requests of a key in the lane of the kill switch."""


def weigh(size: int) -> int:
    """Points that a body of this size, bytes, costs in addition to its document."""
    return max(0, -(-size // 1_000) - FREE_KILOBYTES)


def partner_account(caller: Caller) -> tuple[str, int, int]:
    """The bucket of a caller's partner: its name, its points, its refill a second."""
    name = f"partner:{caller.partner_id}"
    return name, caller.budget_points, caller.budget_refill


def address_account(address: str) -> tuple[str, int, int]:
    """The bucket of an address, or of its IPv6 network, as of a partner."""
    limit = settings.PARTNER_API_ANONYMOUS_BUDGET_POINTS
    return (
        f"address:{source_of(address)}",
        limit,
        settings.PARTNER_API_ANONYMOUS_BUDGET_REFILL,
    )


def budget_of(partner: Partner) -> Budget:
    """The budget of a partner as it stands; nothing is taken of it."""
    points = partner.budget_points or settings.PARTNER_API_BUDGET_POINTS
    refill = partner.budget_refill or settings.PARTNER_API_BUDGET_REFILL
    return throttling.take(f"partner:{partner.pk}", points, refill, 0)


class Bill:
    """Draws on the budget of a caller, or of an address, for one request.

    `points` is what was charged, or could not be. `held` is the most that it was.
    `budget` is as it stood after that; None until it is read.
    """

    def __init__(self, request: HttpRequest, caller: Caller | None) -> None:
        self.name: str
        self.limit: int
        self.refill: float
        self.name, self.limit, self.refill = (
            partner_account(caller) if caller else address_account(address_of(request))
        )
        self.points = 0
        self.held = 0
        self.budget: Budget | None = None

    @property
    def account(self) -> tuple[str, int, float]:
        return self.name, self.limit, self.refill

    def look(self, points: int, unread: bool) -> None:
        """Refuse a request that costs so much at least, before it is read.

        `unread` is one that was looked at before, and whose body is unread.

        Raises:
            Throttled: the budget holds less, or did; it stays as it is.
        """
        self.points, self.budget = points, throttling.look(*self.account, points)
        if unread or not self.budget.taken:
            raise self.throttled()

    def charge(self, points: int, owed: int = 0) -> Budget:
        """Take the points; where the budget holds fewer, what is owed for reading.

        Raises:
            Throttled: the budget holds less than the points.
        """
        owed = min(owed, self.most_refused)
        budget = throttling.take(*self.account, points, owed)
        self.points, self.held, self.budget = points, points, budget
        if not budget.taken:
            raise self.throttled()
        return budget

    def charge_refusal(self, weight: int = 0) -> None:
        """Take what a refused request costs, of which `weight` is for its body.

        Raises:
            Throttled: the budget holds less, and owes it.
        """
        points = min(LEAST + weight, self.most_refused)
        self.charge(points, owed=points)

    @property
    def most_refused(self) -> int:
        return min(MOST_REFUSED_COST, self.limit)

    def settle(self, points: int) -> None:
        """Take what the answer costs beyond what was held back, or give back the rest.

        It does not wait for Redis. The budget may then owe points.
        """
        more = points - self.points
        if more:
            assert self.budget is not None
            self.points, self.held = points, max(points, self.held)
            self.budget = throttling.settle(*self.account, more, self.budget)

    def throttled(self) -> Throttled:
        assert self.budget is not None
        advice = (
            f"try again in {self.budget.retry_after} seconds"
            if self.points <= self.limit
            else f"it never holds more than {self.limit}, so request less at a time"
        )
        return Throttled(
            f"The request costs {self.points} points and the budget holds "
            f"{self.budget.remaining}; {advice}.",
            headers={"Retry-After": str(self.budget.retry_after)},
            reason="POINTS",
        )

    def headers(self) -> dict[str, str]:
        """`X-Query-Cost` and `X-RateLimit-…`, as far as this process knows them."""
        budget = self.budget or throttling.look(*self.account, 0)
        return {
            "X-Query-Cost": str(self.points),
            "X-RateLimit-Limit": str(budget.limit),
            "X-RateLimit-Remaining": str(budget.remaining),
            "X-RateLimit-Reset": str(budget.reset),
        }


class KillSwitchBill(Bill):
    """Draws on a budget of requests that stop orders: ten a minute of a key.

    Each takes one, whatever it costs. Its points are not charged.
    """

    def __init__(self, request: HttpRequest, caller: Caller) -> None:
        super().__init__(request, caller)
        self.name = f"kill-switch:{caller.key_id}"
        self.limit, self.refill = STOPS_A_MINUTE, STOPS_A_MINUTE / 60

    def look(self, points: int, unread: bool) -> None:
        """Refuse nothing before it is read."""

    def charge(self, points: int, owed: int = 0) -> Budget:
        return super().charge(1)

    def settle(self, points: int) -> None:
        """The request has taken its one."""

    def throttled(self) -> Throttled:
        assert self.budget is not None
        return Throttled(
            f"A key may send X-Kill-Switch {STOPS_A_MINUTE} times a minute; try again "
            f"in {self.budget.retry_after} seconds, or without it.",
            headers={"Retry-After": str(self.budget.retry_after)},
            reason="KILL_SWITCH",
        )

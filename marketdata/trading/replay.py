"""Replays a market's log through the pure matcher, which must make the same trades.

The replay trusts the log about rules: an order that a rule ended is absent when the
next one comes, and a killed order stays killed.
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction

from marketdata.trading.auctions import uncross
from marketdata.trading.in_force import Stop, TimeInForce
from marketdata.trading.models import Auction, OrderEvent, Phase
from marketdata.trading.placing import OUTSIDE_BAND
from marketdata.trading.queues import Match, Queues, Resting

AT_ONCE = 5_000
Kind = OrderEvent.Kind


class Said(NamedTuple):
    """An event, with the original values of its order."""

    number: int
    kind: str
    order: UUID | None
    price: int
    quantity: int
    remaining: int
    priority: int
    trade: int
    phase: str | None
    reason: str
    at: datetime
    side: int
    user: UUID
    time_in_force: str
    expires_at: datetime | None


def replay(
    token_id: UUID, advance: Callable[[int], object] = lambda done: None
) -> Iterator[str]:
    """A sentence for each event that differs from the matcher's result.

    After the first difference the rest is not compared: the queues differ.
    """
    calls = Auction.objects.filter(token=token_id)
    replayed = Replay({call.began: call for call in calls})
    for said in events(token_id, advance):
        wrong = replayed.follow(said)
        if wrong:
            yield f"event {said.number}, {said.kind}: {wrong}"
            return
    if replayed.due:
        yield f"the log ends before {len(replayed.due)} trades that were due"


class Replay:
    """The queues after the events so far, and the trades that must follow."""

    def __init__(self, calls: dict[int, Auction]) -> None:
        self.calls = calls
        self.queues = Queues()
        self.phase, self.price = "", 0
        self.call: Auction | None = None
        self.is_uncrossed = self.is_interrupted = False
        self.due: deque[tuple[Hashable, int | None, int, int]] = deque()
        self.ends: tuple[Hashable, str, int] | None = None
        # This one would fill in full. Its next event says whether a rule killed it.
        self.whole: tuple[Said, Resting, Match] | None = None

    def follow(self, said: Said) -> str | None:
        """The error of an event, if any."""
        if said.kind in (Kind.TRADE_BUSTED, Kind.TRADE_CORRECTED):
            return None
        if self.whole is not None:
            (came, taker, match), self.whole = self.whole, None
            if (said.order, said.reason) == (came.order, Stop.FILL_OR_KILL):
                return None
            self.apply(came, taker, match)
        if said.kind == Kind.ORDER_TRADED:
            return self.trade(said)
        if self.due:
            return "a trade was due"
        if self.is_uncrossed and said.kind != Kind.PHASE_CHANGED:
            return "the end of the call was due"
        if self.ends is not None:
            ended, self.ends = self.ends, None
            wanted = (said.order, said.reason, said.remaining)
            return None if ended == wanted else f"{ended[1]} of {ended[0]} was due"
        if said.kind == Kind.PHASE_CHANGED:
            return self.change_phase(said)
        if self.is_interrupted:
            return "a call was due"
        if said.kind in (Kind.ORDER_CANCELLED, Kind.ORDER_EXPIRED):
            return self.end(said)
        return self.replay_event(said)

    def change_phase(self, said: Said) -> str | None:
        ends = self.phase == Phase.CALL and said.phase != Phase.HALTED
        if ends and not self.is_uncrossed and (wrong := self.uncross()):
            return wrong
        if self.due:
            return "the trades of an auction were due"
        if self.is_interrupted and said.phase != Phase.CALL:
            return "a call was due"
        self.is_uncrossed = self.is_interrupted = False
        self.phase, self.price = said.phase or "", said.price
        self.call = self.calls.get(said.number)
        if self.phase == Phase.CALL and self.call is None:
            return "there is no auction of the call"
        return None

    def uncross(self) -> str | None:
        """Expect the trades of the auction that ends the call."""
        assert self.call is not None
        self.is_uncrossed = True
        orders = [*self.queues.orders.values()]
        result = uncross(orders, self.call.reference_price, self.call.ticks)
        if result.removed:
            return f"{result.removed[0].order} would trade with its own user"
        for buy, sell, quantity in result.fills:
            for order in (buy, sell):
                order.quantity -= quantity
                self.due.append((order.order, result.price, quantity, order.quantity))
        for order in orders:
            if not order.quantity:
                self.queues.remove(order.order)
        return None

    def replay_event(self, said: Said) -> str | None:
        if self.phase not in (Phase.CALL, Phase.AT_LAST, Phase.CONTINUOUS):
            return f"the market is {self.phase}"
        if self.phase == Phase.AT_LAST and said.price != self.price:
            return f"the market trades at {self.price}"
        order = said.order
        if said.kind == Kind.ORDER_AMENDED:
            if order not in self.queues.orders:
                return "the order is not open"
            keeps = self.queues.keeps_place(order, said.price, said.remaining)
            if keeps != (said.priority != said.number):
                return "its place in the queue is wrong"
            if keeps:
                self.queues.orders[order].quantity = said.remaining
                return None
            self.queues.remove(order)
        taker = Resting(order, said.user, said.side, said.price, said.remaining)
        if self.phase == Phase.CALL:
            self.queues.add(taker)
            return None
        band = None
        if said.reason == OUTSIDE_BAND:
            call = self.calls[min(began for began in self.calls if began > said.number)]
            band = (call.lowest or 0, call.highest or 0)
        match = self.queues.match(taker, said.time_in_force, band=band)
        if match.is_outside != (said.reason == OUTSIDE_BAND):
            return "no order stands outside the bands"
        self.is_interrupted = match.is_outside
        if said.time_in_force == TimeInForce.FOK and not match.left:
            self.whole = said, taker, match
        else:
            self.apply(said, taker, match)
        return None

    def apply(self, said: Said, taker: Resting, match: Match) -> None:
        """Match an order, and expect its events."""
        left = said.remaining
        for maker, quantity in match.fills:
            left -= quantity
            after = maker.quantity - quantity
            self.due.append((maker.order, maker.price, quantity, after))
            self.due.append((said.order, maker.price, quantity, left))
        if match.stop is not None:
            self.ends = (said.order, match.stop.value, match.left)
        self.queues.apply(taker, match)

    def trade(self, said: Said) -> str | None:
        if self.phase == Phase.CALL:
            if not self.is_uncrossed and (wrong := self.uncross()):
                return wrong
        elif self.phase not in (Phase.AT_LAST, Phase.CONTINUOUS):
            return f"the market is {self.phase}"
        elif said.expires_at is not None and said.expires_at <= said.at:
            return "the order had expired"
        if not self.due:
            return "no trade was due"
        due = self.due.popleft()
        found = (said.order, said.price, said.quantity, said.remaining)
        return None if due == found else f"{found} instead of {due}"

    def end(self, said: Said) -> str | None:
        if said.order not in self.queues.orders:
            return "the order is not open"
        if said.reason in list(Stop) and self.phase != Phase.CALL:
            return f"{said.reason} of a resting order"
        resting = self.queues.remove(said.order)
        if resting.quantity != said.remaining:
            return f"{resting.quantity} units remained, not {said.remaining}"
        return None


def events(token_id: UUID, advance: Callable[[int], object]) -> Iterator[Said]:
    """The market's log in order, read in batches at one instant."""
    with transaction.atomic(), connection.cursor() as cursor:
        after = 0
        while True:
            cursor.execute(EVENTS, [token_id, after, AT_ONCE])
            rows = cursor.fetchall()
            yield from map(Said._make, rows)
            advance(len(rows))
            if len(rows) < AT_ONCE:
                return
            after = rows[-1][0]


EVENTS = """
    SELECT e.number, e.kind, e.order_id, e.price, e.quantity, e.remaining, e.priority,
        e.trade, e.phase, e.reason, e.at, o.side, o.user_id, o.time_in_force,
        o.expires_at
    FROM trading_orderevent e LEFT JOIN trading_order o ON o.id = e.order_id
    WHERE e.token_id = %s AND e.number > %s ORDER BY e.number LIMIT %s
"""

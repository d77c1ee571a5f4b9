"""The matcher against an oracle that sorts all orders anew for each unit."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marketdata.trading.in_force import TimeInForce
from marketdata.trading.queues import BUY, SELL, Queues, RanOut, Resting, Stop

TIMES_IN_FORCE = ["GTC", "IOC", "FOK"]
MATCHED_AS_GTC = {"DAY", "GTD"}


@dataclass
class Open:
    order: int
    user: int
    side: int
    price: int
    units: int
    came: int


class Oracle:
    """The rules of the market, unit by unit, without any queue."""

    def __init__(self) -> None:
        self.open: list[Open] = []
        self.clock = 0

    def best(self, side: int) -> Open | None:
        own = [o for o in self.open if o.side == side]
        sign = -1 if side == BUY else 1
        return min(own, key=lambda o: (sign * o.price, o.came), default=None)

    def place(
        self, order: int, user: int, side: int, price: int, units: int, tif: str
    ) -> tuple[list[tuple[int, int]], str]:
        """Units by the order that gave them, and how the order ended."""
        self.clock += 1
        before = [Open(**vars(o)) for o in self.open]
        traded: list[tuple[int, int]] = []
        ended = "FILLED"
        left = units
        while left:
            maker = self.best(1 - side)
            if maker is None or (maker.price - price) * (1 - 2 * side) > 0:
                ended = {"IOC": "IMMEDIATE_OR_CANCEL"}.get(tif, "OPEN")
                break
            if maker.user == user:
                ended = "SELF_TRADE"
                break
            maker.units -= 1
            left -= 1
            if not maker.units:
                self.open.remove(maker)
            traded.append((maker.order, maker.price))
        if tif == "FOK" and left:
            self.open = before
            return [], "FILL_OR_KILL"
        if ended == "OPEN":
            self.open.append(Open(order, user, side, price, left, self.clock))
        return traded, ended

    def amend(self, order: int, price: int, units: int) -> None:
        [found] = [o for o in self.open if o.order == order]
        if price == found.price and units <= found.units:
            found.units = units
            return
        self.open.remove(found)
        self.place(order, found.user, found.side, price, units, "GTC")

    def cancel(self, order: int) -> None:
        self.open = [o for o in self.open if o.order != order]


orders = st.tuples(
    st.just("place"),
    st.integers(1, 4),
    st.sampled_from([BUY, SELL]),
    st.integers(1, 6),
    st.integers(1, 5),
    st.sampled_from(TIMES_IN_FORCE),
)
cancels = st.tuples(st.just("cancel"), st.integers(0, 30))
amendments = st.tuples(
    st.just("amend"), st.integers(0, 30), st.integers(1, 6), st.integers(1, 5)
)


def test_the_oracle_knows_each_time_in_force():
    assert set(TimeInForce) == {*TIMES_IN_FORCE} | MATCHED_AS_GTC, (
        "give Oracle.place the rule of a new one and TIMES_IN_FORCE its name, or name "
        "it in MATCHED_AS_GTC"
    )


def standing(queues: Queues, side: int) -> list[tuple]:
    return [(o.order, o.price, o.quantity) for o in queues.best_first(side)]


@settings(max_examples=400)
@given(st.lists(orders | orders | cancels | amendments, max_size=40))
def test_orders_meet_the_queues_as_they_meet_the_oracle(actions: list[tuple]):
    oracle, queues = Oracle(), Queues()
    for number, (action, *values) in enumerate(actions):
        if action == "place":
            user, side, price, units, tif = values
            expected, ended = oracle.place(number, *values)
            match = queues.place(Resting(number, user, side, price, units), tif)
            traded = [(f.maker.order, f.price) for f in match.fills
                      for _ in range(f.quantity)]  # fmt: skip
            assert traded == expected
            assert (match.stop or ("OPEN" if match.left else "FILLED")) == ended
        elif queues.orders:
            order = sorted(queues.orders, key=str)[values[0] % len(queues.orders)]
            if action == "cancel":
                oracle.cancel(order)
                queues.remove(order)
            else:
                _, price, units = values
                oracle.amend(order, price, units)
                if queues.keeps_place(order, price, units):
                    queues.orders[order].quantity = units
                else:
                    old = queues.remove(order)
                    queues.place(
                        Resting(order, old.user, old.side, price, units), "GTC"
                    )
        for side in (BUY, SELL):
            sign = -1 if side == BUY else 1
            own = [o for o in oracle.open if o.side == side]
            own.sort(key=lambda o: (sign * o.price, o.came))
            assert standing(queues, side) == [(o.order, o.price, o.units) for o in own]


@given(st.lists(orders, max_size=30))
def test_a_match_that_is_not_applied_changes_nothing(actions: list[tuple]):
    queues = Queues()
    for number, (_, user, side, price, units, tif) in enumerate(actions):
        before = [standing(queues, side) for side in (BUY, SELL)]
        queues.match(Resting(number, user, side, price, units), tif)
        assert [standing(queues, side) for side in (BUY, SELL)] == before
        queues.place(Resting(number, user, side, price, units), tif)


def three_sells() -> Queues:
    queues = Queues()
    for order, user in (("a", 1), ("b", 2), ("c", 3)):
        queues.add(Resting(order, user, SELL, 10, 5))
    return queues


def test_who_may_not_trade_is_closed_and_the_next_one_trades():
    queues = three_sells()
    match = queues.place(
        Resting("x", 9, BUY, 10, 8), "GTC", lambda maker, quantity: maker.user != 1
    )
    assert [(f.maker.order, f.quantity) for f in match.fills] == [("b", 5), ("c", 3)]
    assert [maker.order for maker in match.closed] == ["a"]
    assert standing(queues, SELL) == [("c", 10, 2)]


def test_an_order_that_is_killed_closes_nobody():
    queues = three_sells()
    match = queues.place(
        Resting("x", 9, BUY, 10, 11), "FOK", lambda maker, quantity: maker.user != 1
    )
    assert (match.fills, match.closed, match.stop) == ([], [], Stop.FILL_OR_KILL)
    assert len(standing(queues, SELL)) == 3


def test_where_worse_orders_stand_elsewhere_the_end_is_told():
    queues = three_sells()
    queues.ends_at[SELL] = 10
    with pytest.raises(RanOut):
        queues.place(Resting("x", 9, BUY, 10, 16), "GTC")
    assert len(standing(queues, SELL)) == 3
    # What comes to rest behind the end is not here, what comes before it is.
    queues.place(Resting("d", 4, SELL, 10, 5), "GTC")
    queues.place(Resting("e", 5, SELL, 9, 1), "GTC")
    assert [order for order, _, _ in standing(queues, SELL)] == ["e", "a", "b", "c"]
    assert queues.place(Resting("x", 9, BUY, 10, 16), "GTC").left == 0

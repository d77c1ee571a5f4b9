"""Invents events of an order book, so that it moves like a real one.

Pure: an event depends on the book, a home price and random numbers. Prices are euro
cents, quantities units. The fair price wanders and returns towards the home price;
orders arrive where few rest, leave where many rest, and sometimes one trades.
"""

from collections.abc import Iterator
from datetime import datetime
from math import exp
from random import Random

from marketdata.books.log import Deal, Message
from marketdata.books.orderbook import ASK, BID, Change, Level, OrderBook

LEAST_LEVELS, MOST_LEVELS = 20, 40
"""Of each side: orders leave while there are more, the farthest where there are too
many. Trades may leave fewer for a while, and so may the end of prices, at 0."""
NARROW, WIDE = 2, 4
"""Ticks between the best prices: no wish for less; a wish for less."""
ORDER_CENTS = 150_000
"""The value of an ordinary order."""
TICKS = ((2_000, 1), (5_000, 2), (10_000, 5), (20_000, 10), (50_000, 20))
"""Below a price, the step of prices; above all of them it is HIGHEST_TICK."""
HIGHEST_TICK = 50

TRADE, WITHDRAWAL = 0.04, 0.44
"""Shares of events, one after the other; the rest are new orders."""
WANDER, WANDER_TICKS = 0.0005, 0.35
"""How far the fair price moves in an event, as a standard deviation: this part of the
home price, and never more ticks than that."""
RETURN = 1 / 2_000
"""Part of the way home that it goes in an event."""
MOST_TAKEN = 4
"""Levels that a trade may take from."""


def tick_of(price: int) -> int:
    """The step between prices near this one."""
    return next((tick for below, tick in TICKS if price < below), HIGHEST_TICK)


class Simulation:
    """Invents the events of one book; its price returns towards `home`.

    The middle of a book that is not empty is its fair price at first.
    """

    def __init__(self, book: OrderBook, home: int, chance: Random) -> None:
        self.book = book
        self.chance = chance
        self.home = max(home, 2)
        self.tick = tick_of(self.home)
        self.order = max(1, ORDER_CENTS // self.home)
        bid, ask = book.best(BID), book.best(ASK)
        if bid and ask:
            self.fair = (bid.price + ask.price) / 2
        elif bid:
            self.fair = float(max(self.home, bid.price))
        else:
            self.fair = float(min(self.home, ask.price) if ask else self.home)

    def messages(self) -> Iterator[Message]:
        """Endless messages, each already applied to the book.

        The first one fills a side that is empty.
        """
        while True:
            message = self.next_message()
            self.book.apply(message.changes)
            yield message

    def next_message(self) -> Message:
        bids, asks = self.book.ladder()
        if not bids or not asks:
            return self.opening()
        if max(len(bids), len(asks)) > MOST_LEVELS:
            return self.expiry()
        step = min(WANDER * self.home, WANDER_TICKS * self.tick)
        self.fair += RETURN * (self.home - self.fair) + self.chance.gauss(0, step)
        self.fair = max(self.fair, 2.0 * self.tick)
        turn = self.chance.random()
        if turn < TRADE:
            return self.trade() or self.placement()
        if (asks[0].price - bids[0].price) / self.tick > WIDE and turn < 0.7:
            return self.improvement()
        if turn < WITHDRAWAL:
            return self.withdrawal()
        return self.placement()

    def opening(self) -> Message:
        """Orders over the whole depth of each empty side."""
        # There is no price below the lowest one.
        if self.book.quantity(ASK, 1):
            return Message([Change(ASK, 1, 0)])
        changes = []
        for side in (BID, ASK):
            if self.book.best(side) is not None:
                continue
            best = self.on_grid(side, self.fair + self.outward(side) * self.tick)
            for distance in range(self.chance.randint(26, 34)):
                price = best + self.outward(side) * distance * self.tick
                if price > 0:
                    quantity = self.some(self.usual(distance) * 0.8)
                    changes.append(Change(side, price, quantity))
        return Message(changes)

    def expiry(self) -> Message:
        """The end of distant orders, if there are too many levels."""
        bids, asks = self.book.ladder()
        return Message(
            [Change(BID, level.price, 0) for level in bids[MOST_LEVELS:]]
            + [Change(ASK, level.price, 0) for level in asks[MOST_LEVELS:]]
        )

    def trade(self) -> Message | None:
        """An order that takes the best of a side, level by level; None: few are left.

        It mostly takes the side on which the price is wrong.
        """
        side = self.side_leaning(ASK)
        levels = self.levels(side)
        left = self.some(self.order * self.chance.choice((0.3, 0.7, 1, 1, 2, 6)))
        if len(levels) <= MOST_TAKEN:
            return None
        changes, deals = [], []
        for price, quantity in levels[:MOST_TAKEN]:
            taken = min(left, quantity)
            left -= taken
            changes.append(Change(side, price, quantity - taken))
            deals.append(Deal(price, taken))
            if not left:
                break
        return Message(changes, deals)

    def improvement(self) -> Message:
        """An order between the best prices, on the side that is further from fair."""
        bid, ask = self.best(BID).price, self.best(ASK).price
        side = BID if self.fair - bid > ask - self.fair else ASK
        away = self.outward(side) * self.chance.uniform(0.5, 2) * self.tick
        wished = self.on_grid(side, self.fair + away)
        if not bid < wished < ask:
            return self.placement()
        return self.add_size(side, wished, self.order)

    def withdrawal(self) -> Message:
        """An order that leaves, or becomes smaller."""
        side = self.side_leaning(ASK)
        levels = self.levels(side)
        # Traders near the best price change their minds most often.
        rank = int(self.chance.expovariate(1 / 6))
        if self.spread() > NARROW and self.chance.random() < 0.7:
            rank += 1
        price, quantity = levels[min(rank, len(levels) - 1)]
        gone = self.chance.randint(1, quantity)
        if len(levels) > LEAST_LEVELS and self.chance.random() < 0.4:
            gone = quantity
        elif gone == quantity:
            return self.placement()
        return Message([Change(side, price, quantity - gone)])

    def placement(self) -> Message:
        """A new order, mostly near the best price, and rather where few orders rest."""
        side = self.side_leaning(BID)
        if self.spread() > NARROW and self.chance.random() < 0.3:
            best = self.best(side).price
            return self.added_inside(side, best - self.outward(side) * self.tick)
        resting = {level.price for level in self.levels(side)}
        best = self.best(side).price
        prices = [
            price
            for distance in range(MOST_LEVELS - 6)
            if (price := best + self.outward(side) * distance * self.tick) > 0
        ]
        empty = [price for price in prices if price not in resting]
        has_room = len(resting) < MOST_LEVELS
        if empty and has_room and self.chance.random() < 0.5:
            price = self.chance.choice(empty)
        else:
            rank = int(self.chance.expovariate(1 / 9))
            price = prices[min(rank, len(prices) - 1)]
        distance = abs(price - best) // self.tick
        usual = self.usual(distance)
        quantity = self.book.quantity(side, price)
        if quantity > 1.5 * usual:
            less = self.chance.randint(1, quantity - 1)
            return Message([Change(side, price, quantity - less)])
        return self.add_size(side, price, usual / 4)

    def added_inside(self, side: int, price: int) -> Message:
        """An order at a price better than the best, if the fair price allows it."""
        other = self.best(1 - side).price
        beyond_fair = (price - self.fair) * self.outward(side) < 0
        if price <= 0 or beyond_fair or (price - other) * self.outward(side) <= 0:
            price = self.best(side).price
        return self.add_size(side, price, self.order)

    def add_size(self, side: int, price: int, size: float) -> Message:
        resting = self.book.quantity(side, price)
        return Message([Change(side, price, resting + self.some(size))])

    def usual(self, distance: int) -> float:
        """Usual units this many ticks from the best: more at first, then fewer."""
        growing = 2 + 6 * min(distance, 8) / 8
        return self.order * growing * exp(-max(0, distance - 8) / 14)

    def some(self, units: float) -> int:
        return max(1, round(units * self.chance.lognormvariate(0, 0.5)))

    def side_leaning(self, side: int) -> int:
        """This side if the price ought to rise; less surely so the nearer it is."""
        middle = (self.best(BID).price + self.best(ASK).price) / 2
        lean = (self.fair - middle) / (2 * self.tick)
        probability = 0.5 + 0.4 * min(max(lean, -1), 1)
        return side if self.chance.random() < probability else 1 - side

    def on_grid(self, side: int, price: float) -> int:
        """The nearest price that is a whole number of ticks, away from the middle."""
        ticks = price // self.tick if side == BID else -(-price // self.tick)
        return max(1, int(ticks) * self.tick)

    def spread(self) -> float:
        """Ticks between the best prices."""
        return (self.best(ASK).price - self.best(BID).price) / self.tick

    def best(self, side: int) -> Level:
        level = self.book.best(side)
        assert level is not None
        return level

    def levels(self, side: int) -> tuple[Level, ...]:
        return self.book.ladder()[side]

    def outward(self, side: int) -> int:
        """The direction in which a side's prices become worse."""
        return -1 if side == BID else 1


def business(moment: datetime) -> float:
    """How busy a market is at a time of day, 1 on average: mornings and afternoons."""
    hour = moment.hour + moment.minute / 60
    peaks = 1.6 * exp(-(((hour - 9) / 1.5) ** 2)) + 1.9 * exp(-(((hour - 16) / 2) ** 2))
    return 0.54 + peaks


def pauses(rate: float, chance: Random) -> Iterator[float]:
    """Endless pauses in seconds: bursts and quiet times, `rate` on average.

    Half of the events fall into bursts, which take a tenth of the time.
    """
    pace, left = 1.0, 0
    while True:
        if not left:
            pace = 5.0 if pace < 1 else 0.5 / 0.9
            left = 1 + int(chance.expovariate(1 / 30))
        left -= 1
        yield chance.expovariate(rate * pace)

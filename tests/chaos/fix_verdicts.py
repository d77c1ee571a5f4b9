"""Trades that clients of the FIX feed received, compared with the log.

Each function says what is wrong, one thing a text.
"""

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import NamedTuple

from marketdata.books.orderbook import Ladder
from tests.chaos.fix_reader import Holding
from tests.chaos.fix_states import States

LATEST_SECONDS = 20.0
"""How late the acceptor may hear of a trade: more than a second without Redis."""


class Known(NamedTuple):
    """What the log says of a token in the end.

    `samples` are pairs of an instant and the number of the last trade then; trades up
    to `pruned` are no longer there.
    """

    ladder: Ladder
    trades: list[tuple[int, int, int]]
    samples: list[tuple[float, int]]
    pruned: int

    def last_trade(self, at: float) -> int:
        """The last trade that was there at an instant, for sure."""
        place = bisect_right(self.samples, at, key=itemgetter(0))
        return self.samples[place - 1][1] if place else 0

    def last_trade_after(self, at: float) -> int:
        """The last trade that may have been there at an instant."""
        place = bisect_left(self.samples, at, key=itemgetter(0))
        return self.samples[place][1] if place < len(self.samples) else len(self.trades)


def wrong_trades(holding: Holding, known: dict[str, Known]) -> list[str]:
    """Each trade since the subscription once, in order, and as the log has it."""
    wrong = []
    for symbol, book in holding.books.items():
        log = known[symbol]
        seen = [(int(one.id), one.price, one.quantity) for one in book.trades]
        said = f"{holding.request} {symbol}"
        for trade in seen:
            if trade != log.trades[trade[0] - 1]:
                wrong.append(f"{said}: {trade}, another trade")
        if not seen:
            continue
        numbers = [number for number, _, _ in seen]
        first = log.last_trade_after(holding.whole_at[symbol]) + 1
        for number in range(min(numbers[0], first), numbers[-1]):
            if number not in numbers and number > log.pruned:
                wrong.append(f"{said}: trade {number} is missing in {numbers}")
        if numbers[0] <= log.last_trade(holding.asked_at - LATEST_SECONDS):
            wrong.append(f"{said}: trade {numbers[0]} is an old one")
    return wrong


def wrong_last_trades(holding: Holding, known: dict[str, Known]) -> list[str]:
    """The first W has the trade before all that follow, where there is one."""
    wrong: list[str] = []
    if not holding.wants_trades:
        return wrong
    for symbol, book in holding.books.items():
        log, told = known[symbol], holding.before.get(symbol)
        first = log.last_trade(holding.asked_at - LATEST_SECONDS)
        last = log.last_trade_after(holding.whole_at[symbol])
        if book.trades:
            first = last = int(book.trades[0].id) - 1
        # Before the first trade there is none.
        possible = [
            log.trades[number - 1][1:] if number else None
            for number in range(first, last + 1)
        ]
        if (told and (told.price, told.quantity)) not in possible:
            wrong.append(
                f"{holding.request} {symbol}: a W with the last trade {told}, "
                f"not one of {first} to {last}"
            )
    return wrong


def wrong_prices(states: States, known: dict[str, Known]) -> list[str]:
    """Each price of a state is that of a trade."""
    wrong = []
    for symbol, prices in states.prices.items():
        others = prices - {price for _, price, _ in known[symbol].trades}
        if others:
            wrong.append(f"states of {symbol} with prices {others}")
    return wrong

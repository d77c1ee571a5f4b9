"""States that a partner's FIX session receives (f, h and B), checked by the rules.

In the histories nothing is hidden and no token leaves the market.
"""

from collections import defaultdict

from marketdata.fix.client.replica import cents
from marketdata.fix.protocol.rules import GOING_DOWN
from marketdata.fix.protocol.wire import Message, read_timestamp

READY, UNKNOWN = "17", "20"
"""SecurityTradingStatus(326)."""
SESSION_STATES = {"0", "2"}
"""TradSesStatus(340): unknown, open."""
HIGH, LOW, LAST = 332, 333, 31


class Wrong(Exception):
    """A message that may not have come, or not so."""


class States:
    """`shown` holds the last state of each symbol, `prices` the prices of f's.

    `due` is the symbol of a W, which its state is to follow, or "". `stated` has
    the requests and symbols whose state came: it follows their first W. `asked` are the
    symbols of requests by their ids, "" for the market; `unanswered` those of them
    whose answers cannot have been lost.
    """

    def __init__(self) -> None:
        self.prices: dict[str, set[int]] = defaultdict(set)
        self.begin()

    def begin(self) -> None:
        """Nothing of a connection before holds."""
        self.asked: dict[str, str] = {}
        self.lose()

    def lose(self) -> None:
        """Messages were lost, and with them what they said."""
        self.due = ""
        self.stated: set[tuple[str, str]] = set()
        self.shown: dict[str, str] = {}
        self.unanswered: set[str] = set()

    def ask(self, request: str, symbol: str) -> None:
        self.asked[request] = symbol
        self.unanswered.add(request)

    def answer(self, request: str, symbol: str) -> None:
        if self.asked.get(request) != symbol:
            raise Wrong(f"an answer to {request} on {symbol}, which was not asked")
        del self.asked[request]
        self.unanswered.discard(request)

    def order(self, message: Message) -> None:
        """Raises Wrong: a request's first W is not followed by the state."""
        due, self.due = self.due, ""
        is_state = message.type == "f" and not message.get(324)
        if due and not (is_state and message.get(55) == due):
            raise Wrong(f"no state after the W of {due}, but {message!r}")
        book = message.get(262), message.get(55)
        if message.type == "W" and book not in self.stated:
            self.stated.add(book)
            self.due = message.get(55)

    def take_status(self, message: Message, subscribed: set[str]) -> None:
        """Note an f.

        Raises:
            Wrong: it was not asked for, or cannot be.
        """
        symbol, state, request = (message.get(tag) for tag in (55, 326, 324))
        if message.get(325) != ("N" if request else "Y"):
            raise Wrong(f"{message!r}: 325 is another")
        if request:
            self.answer(request, symbol)
        elif symbol not in subscribed:
            raise Wrong(f"a state of {symbol}, which was never subscribed")
        if state not in (READY, UNKNOWN) or (state == UNKNOWN) != bool(message.get(58)):
            raise Wrong(f"{message!r}: no state of a token that is traded")
        check_instant(message.get(60))
        if not request:
            self.shown[symbol] = state
        figures = [message.get(tag) for tag in (LOW, LAST, HIGH)]
        if any(figures):
            prices = list(map(cents, figures))
            if prices != sorted(prices):
                raise Wrong(f"{message!r}: the last price is outside of the day's")
            self.prices[symbol].update(prices)

    def take_session_status(self, message: Message) -> None:
        self.answer(message.get(335), "")
        if message.get(340) not in SESSION_STATES:
            raise Wrong(f"{message!r}: no state of the market")

    def take_news(self, message: Message) -> None:
        if message.get(58) != GOING_DOWN:
            raise Wrong(f"{message!r}: a notice of what did not happen")


def check_times(message: Message, entries: list[dict[int, str]]) -> None:
    """Levels have one time, that of the book's state; all other entries one each.

    Raises:
        Wrong
    """
    times = [(entry.get(272, ""), entry.get(273, "")) for entry in entries]
    levels = {
        time for time, entry in zip(times, entries, strict=True) if entry[269] in "01"
    }
    if len(levels) > 1:
        raise Wrong(f"levels of several times: {message!r}")
    for date, time in times:
        check_instant(f"{date}-{time}")


def check_instant(text: str) -> None:
    """Raises Wrong: it is none."""
    try:
        read_timestamp(text)
    except ValueError:
        raise Wrong(f"{text} is not a time") from None

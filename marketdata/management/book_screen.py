"""One order book on the whole terminal: asks above, bids below, trades at the side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from marketdata.books.livebook import TradeRow
from marketdata.books.orderbook import Ladder, Level
from marketdata.management.ladders import ASK_STYLE, BID_STYLE, bar, euros, spread

TRADES_WIDTH = 34
MOST_LEVELS_WIDTH = 66
LEAST_BAR, MOST_BAR = 4, 40
FRAME_LINES = 5
"""Lines in addition to the levels: what book it is, an empty one, heads of columns,
middle."""


@dataclass(frozen=True)
class BookScreen:
    """A book drawn at the available width, with `depth` rows on each side.

    `at` is None for a book that never changed; `trades` are the newest last.
    """

    symbol: str
    name: str
    sequence: int
    at: datetime | None
    ladder: Ladder
    trades: Sequence[TradeRow]
    depth: int

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> RenderResult:
        width = options.max_width
        has_trades = bool(self.trades) and width >= 2 * TRADES_WIDTH
        left = min(width - TRADES_WIDTH * has_trades, MOST_LEVELS_WIDTH)
        lines = list(self.levels(left, options.ascii_only))
        beside = list(self.last_trades(len(lines))) if has_trades else []
        yield from self.heading(width)
        yield Text()
        for number, line in enumerate(lines):
            if number < len(beside):
                line.align("left", left)
                line.append_text(beside[number])
            line.truncate(width)
            yield line

    def heading(self, width: int) -> Iterator[Text]:
        title = Text(self.symbol, style="bold", no_wrap=True, overflow="ellipsis")
        title.append(f"  {self.name}", style="not bold")
        title.truncate(width, overflow="ellipsis")
        yield title
        when = f"{self.at:%Y-%m-%d %H:%M:%S} UTC" if self.at else "never changed"
        state = Text(f"change {self.sequence:,}, {when}", style="dim")
        state.truncate(width)
        yield state

    def levels(self, width: int, ascii_only: bool) -> Iterator[Text]:
        bids, asks = (side[: self.depth] for side in self.ladder)
        shown = [*bids, *asks]
        largest = max((level.quantity for level in shown), default=1)
        prices = max([len("price"), *(len(euros(level.price)) for level in shown)])
        units = max([len("units"), *(len(f"{level.quantity:,}") for level in shown)])
        cells = min(max(width - prices - units - 11, LEAST_BAR), MOST_BAR)

        def row(word: str, style: str, level: Level | None) -> Text:
            if level is None:
                return Text()
            long = bar(level.quantity, largest, cells)
            if ascii_only:
                long = "#" * max(1, len(long))
            return Text.assemble(
                (f"{word:<5}", "dim"),
                (f"{euros(level.price):>{prices}}", style),
                f"  {level.quantity:>{units},}  ",
                (long, style),
            )

        heads = f"{'':<5}{'price':>{prices}}  {'units':>{units}}"
        yield Text.assemble((heads, "dim"))
        for rank in reversed(range(self.depth)):
            yield row("ask", ASK_STYLE, asks[rank] if rank < len(asks) else None)
        yield Text.assemble(
            f"{'':<5}", (f"{spread(self.ladder)}{self.relative()}", "bold")
        )
        for rank in range(self.depth):
            yield row("bid", BID_STYLE, bids[rank] if rank < len(bids) else None)

    def relative(self) -> str:
        bids, asks = self.ladder
        if not bids or not asks:
            return ""
        middle = (bids[0].price + asks[0].price) / 2
        return f" ({(asks[0].price - bids[0].price) / middle:.2%})"

    def last_trades(self, most: int) -> Iterator[Text]:
        """A heading, and the newest trades, the newest first."""
        newest = list(reversed(self.trades))[: most - 1]
        prices = max(len("price"), *(len(euros(trade.price)) for trade in newest))
        yield Text(f"{'trades':<10}{'price':>{prices}}  {'units':>8}", style="dim")
        for trade, before in zip(newest, [*newest[1:], newest[-1]], strict=True):
            style = "" if trade.price == before.price else BID_STYLE
            if trade.price < before.price:
                style = ASK_STYLE
            yield Text.assemble(
                (f"{trade.at:%H:%M:%S}  ", "dim"),
                (f"{euros(trade.price):>{prices}}", style),
                f"  {trade.quantity:>8,}",
            )


def depth_that_fits(lines: int) -> int:
    """The number of levels per side that fit into this many lines."""
    return max(1, (lines - FRAME_LINES) // 2)

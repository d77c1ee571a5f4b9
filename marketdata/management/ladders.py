"""Order books for a terminal: one table per book, best prices on top."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.columns import Columns
from rich.console import Group
from rich.table import Table
from rich.text import Text

from marketdata.books.orderbook import Ladder, Level

BID_STYLE, ASK_STYLE = "green", "red"
BAR_CELLS = 8
EIGHTHS = " ▏▎▍▌▋▊▉█"


class TradeShown(NamedTuple):
    """Price in cents, quantity in units."""

    at: datetime | None
    price: int
    quantity: int


class BookShown(NamedTuple):
    """A book to show; `state` names its position, `trades` end with the newest."""

    symbol: str
    ladder: Ladder
    state: str
    trades: Sequence[TradeShown] = ()


def euros(cents: int) -> str:
    return f"{cents // 100:,}.{cents % 100:02d}"


def bar(quantity: int, largest: int, cells: int = BAR_CELLS) -> str:
    """A bar of at most this many cells, proportional to the quantity."""
    eighths = max(1, round(quantity * cells * 8 / largest))
    return "█" * (eighths // 8) + EIGHTHS[eighths % 8].strip()


def book_table(book: BookShown, depth: int) -> Table:
    """Bids on the left, asks on the right, `depth` rows whatever the book holds."""
    bids, asks = book.ladder
    table = Table(
        title=Text(book.symbol, style="bold"),
        caption=Text(f"{spread(book.ladder)}\n{book.state}"),
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("", justify="right", style=BID_STYLE, width=BAR_CELLS)
    table.add_column("units", justify="right", min_width=7)
    table.add_column("bid", justify="right", style=BID_STYLE, min_width=7)
    table.add_column("ask", justify="right", style=ASK_STYLE, min_width=7)
    table.add_column("units", justify="right", min_width=7)
    table.add_column("", style=ASK_STYLE, width=BAR_CELLS)
    shown = [*bids[:depth], *asks[:depth]]
    largest = max((level.quantity for level in shown), default=1)
    for row in range(depth):
        bid, ask = cells(bids, row, largest), cells(asks, row, largest)
        table.add_row(*reversed(bid), *ask)
    return table


def cells(levels: Sequence[Level], row: int, largest: int) -> tuple[str, str, str]:
    if row >= len(levels):
        return "", "", ""
    price, quantity = levels[row]
    return euros(price), f"{quantity:,}", bar(quantity, largest)


def spread(ladder: Ladder) -> str:
    if not ladder.bids or not ladder.asks:
        return "empty" if ladder == Ladder((), ()) else "one side only"
    return f"spread {euros(ladder.asks[0].price - ladder.bids[0].price)}"


def trades_table(trades: Sequence[TradeShown], most: int) -> Table:
    """The newest trades, newest on top; `most` rows."""
    table = Table(title="trades", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("time (UTC)")
    table.add_column("price", justify="right", min_width=7)
    table.add_column("units", justify="right", min_width=7)
    newest = list(reversed(trades))[:most]
    for trade in newest:
        at = f"{trade.at:%H:%M:%S}" if trade.at else ""
        table.add_row(at, euros(trade.price), f"{trade.quantity:,}")
    for _ in range(most - len(newest)):
        table.add_row("", "", "")
    return table


def screen(books: Iterable[BookShown], depth: int, *, trades: bool = False) -> Columns:
    """Every book with `depth` levels, side by side if the terminal is wide enough.

    Heights stay the same from screen to screen, so that tables do not jump.
    """
    return Columns(
        [
            Group(
                book_table(book, depth),
                *([trades_table(book.trades, depth)] if trades else []),
            )
            for book in books
        ],
        padding=(0, 4),
    )

"""Order books as staff see them, against their logs; and a feed that is killed.

python -m tests.benchmarks.ladder --seconds 60

A sandbox runs in a temporary directory, and simulate_market moves two books, one of an
external market and one of an internal market. A browser shows the ladder of each and
keeps what it shows. The output has the number of ladders that differ from the book in
the log, their age when the next came, and the time until the page reports that no one
answers: where the web server stands still, and where it is killed. It ends with exit
code 1 where a figure misses its number.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import django
import psutil
import psycopg
from rich.console import Console
from rich.table import Table

from tests.benchmarks.yardstick import yardstick

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.system import System

TOKENS = ("LUMARELLE", "DORVAUX")
RATE = 40.0
"""Events a second on each book."""
STANDSTILLS = 5
MOST_OLD_SECONDS, MOST_BANNER_SECONDS = 1.0, 3.0
CALM_SECONDS = 1.3
"""Between two standstills: they come at other times between two questions."""
DEPTH = 10
KEEP = r"""
() => {
  const ladder = document.getElementById("ladder");
  const down = document.getElementById("down");
  const number = (cell) => Number(cell.textContent.replace(/\D/g, ""));
  const levels = (side) => [...ladder.querySelectorAll(`tr.${side}`)].map(
    (row) => [...row.querySelectorAll("td.number")].map(number)
  );
  const now = () => Date.now() / 1000;
  const keep = () => shown.push({
    at: now(),
    sequence: Number(/Change ([\d,]*\d)/.exec(ladder.textContent)[1].replace(/,/g, "")),
    asks: levels("ask"),
    bids: levels("bid"),
  });
  window.shown = [];
  window.turns = [{ at: now(), down: !down.hidden }];
  new MutationObserver(keep).observe(ladder, { childList: true });
  new MutationObserver(() => {
    if (turns.at(-1).down === down.hidden)
      turns.push({ at: now(), down: !down.hidden });
  }).observe(down, { attributeFilter: ["hidden"] });
  keep();
}
"""
"""Keeps each ladder that the page shows, and when its banner comes and goes."""
LOG = """
SELECT change.sequence, change.side, change.price_cents, change.quantity,
    extract(epoch FROM change.at)::float
FROM marketdata_bookchange AS change
JOIN issuers_token AS token ON token.id = change.token_id
WHERE token.symbol = %s ORDER BY change.sequence
"""


class Compared(NamedTuple):
    """Ladders of a book, those that its log does not know, and the oldest, seconds."""

    ladders: int
    others: list[dict[str, Any]]
    oldest: float


def sign_in(page: "Page", admin: str, staff: dict[str, str]) -> None:
    page.goto(admin)
    page.get_by_label("Email").fill(staff["login"])
    page.get_by_label("Password").fill(staff["password"])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Back office").wait_for()


def watch(page: "Page", admin: str, symbol: str) -> None:
    """Show the book of a token, and keep what is shown from now on."""
    page.goto(admin + "books/")
    page.get_by_role("link", name=symbol, exact=True).click()
    page.get_by_role("heading", name=f"Order book of {symbol}").wait_for()
    page.evaluate(KEEP)


def compare(page: "Page", database: str, symbol: str) -> Compared:
    """Hold what the page has shown until now against the log."""
    shown = page.evaluate("[...shown, { ...shown.at(-1), at: Date.now() / 1000 }]")
    wanted = {each["sequence"] for each in shown}
    bids, asks = levels = (dict[int, int](), dict[int, int]())
    books: dict[int, tuple[list[Any], list[Any]]] = {0: ([], [])}
    times: dict[int, float] = {}
    with psycopg.connect(database) as connection:
        for sequence, side, price, quantity, at in connection.execute(LOG, [symbol]):
            assert sequence == len(times) + 1, "the log was pruned"
            levels[side][price] = quantity
            if not quantity:
                del levels[side][price]
            times[sequence] = at
            if sequence in wanted:
                best = sorted(bids.items(), reverse=True), sorted(asks.items())
                books[sequence] = best[0][:DEPTH], best[1][:DEPTH]
    others = [each for each in shown if books.get(each["sequence"]) != ladder_of(each)]
    ages = [
        following["at"] - times.get(each["sequence"] + 1, following["at"])
        for each, following in pairwise(shown)
    ]
    return Compared(len(shown) - 1, others, max(ages))


def ladder_of(shown: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Bids and asks, the best first, which stand in the middle of the page."""
    return [*map(tuple, shown["bids"])], [*map(tuple, reversed(shown["asks"]))]


def banner_seconds(page: "Page", is_shown: bool, since: float) -> float:
    """Wait until the page says, or no longer says, that no one answers."""
    page.wait_for_function("(shown) => turns.at(-1).down === shown", arg=is_shown)
    at: float = page.evaluate("turns.at(-1).at")
    return at - since


def web_processes(running: "System") -> list[psutil.Process]:
    return [
        child for child in running.children() if "gunicorn" in " ".join(child.cmdline())
    ]


def standstill(page: "Page", running: "System") -> tuple[float, float]:
    """Hold the web server up, and let it go on; seconds until the page says each."""
    web = web_processes(running)
    since = time.time()
    for process in web:
        process.suspend()
    try:
        shown = banner_seconds(page, True, since)
    finally:
        since = time.time()
        for process in web:
            process.resume()
    return shown, banner_seconds(page, False, since)


def kill(page: "Page", running: "System") -> float:
    """Kill the web server; seconds until the page says so."""
    since = time.time()
    for process in web_processes(running):
        process.kill()
    return banner_seconds(page, True, since)


@contextmanager
def simulated(running: "System", seconds: float) -> Iterator[None]:
    """Orders on the books while this lasts, at most for so long."""
    from tests.system import bare_environment

    command = [*running.up.args[:2], "simulate_market", "--seconds", str(seconds)]
    command += ["--rate", str(RATE * len(TOKENS))]
    for symbol in TOKENS:
        command += ["--token", symbol]
    environment = {"PARTNER_API_DIRECTORY": str(running.directory)}
    market = subprocess.Popen(
        command, env=bare_environment() | environment, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        market.terminate()
        market.wait()


def measure(running: "System", seconds: float, console: Console) -> bool:
    """Whether all figures are as they should be."""
    from playwright.sync_api import sync_playwright

    from tests.pages.test_browser import PATIENCE_MS, launch

    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        pages = {symbol: context.new_page() for symbol in TOKENS}
        admin = running.described["admin"]
        first = pages[TOKENS[0]]
        sign_in(first, admin, running.described["staff"])
        with simulated(running, seconds):
            for symbol, page in pages.items():
                watch(page, admin, symbol)
            first.wait_for_timeout(seconds * 1000)
            database = running.variable("DATABASE_URL")
            found = {s: compare(page, database, s) for s, page in pages.items()}
        stood = []
        for _ in range(STANDSTILLS):
            first.wait_for_timeout(CALM_SECONDS * 1000)
            stood.append(standstill(first, running))
        killed = kill(first, running)
        browser.close()
    books = Table("Book", "Ladders", "Not in the log", "Oldest, s")
    for symbol, one in found.items():
        books.add_row(
            symbol, str(one.ladders), str(len(one.others)), f"{one.oldest:.2f}"
        )
    console.print(books)
    banner = Table("The web server", "Banner after, s", "Gone again after, s")
    for shown, hidden in stood:
        banner.add_row("stands still, goes on", f"{shown:.2f}", f"{hidden:.2f}")
    banner.add_row("is killed", f"{killed:.2f}", "")
    console.print(banner)
    return (
        not any(one.others for one in found.values())
        and all(one.oldest <= MOST_OLD_SECONDS for one in found.values())
        and max(killed, *(shown for shown, _ in stood)) <= MOST_BANNER_SECONDS
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.ladder",
        description="Watch order books as staff do, and kill what feeds the page. Exit "
        "code 1 where a ladder is another one than the log's, gets older than "
        f"{MOST_OLD_SECONDS:g} s, or the banner takes more than "
        f"{MOST_BANNER_SECONDS:g} s.",
        epilog="example: python -m tests.benchmarks.ladder --seconds 20",
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "partnerapi.settings")
    django.setup()
    from tests.system import free_port, remove_servers, system

    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        directory = Path(parent) / "state"
        with system(directory, free_port()) as running:
            is_right = measure(running, arguments.seconds, Console())
        remove_servers(directory)
    return not is_right


if __name__ == "__main__":
    with yardstick():
        sys.exit(main())

"""Follows replayed files and a simulated day over FIX, and judges every message.

    python -m tests.marketdata.fix.replays --replays 240 --events 150000

A file is replayed at one of four speeds to a session of one of three depths, without
conflation. Each state that the session is led to must be that of the log under the
book's number, and none may come twice or lead back. Then a market is simulated for so
many events, by default as many as in a day; each message of it must be valid by the
stock dictionary. It ends with exit code 1 otherwise.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.installation import throw_away_installation

if TYPE_CHECKING:
    from issuers.models import Token
    from marketdata.books.orderbook import Ladder
    from tests.marketdata.fix.engines import Bench

SPEEDS = (1.0, 10.0, 100.0, None)
"""Times as fast as it happened; None: as fast as possible."""
DEPTHS = (0, 10, 1)
MESSAGES, SECONDS = 300, 1.5
"""Of the file."""
EVENTS_PER_SECOND = 1_000
QUIET_SECONDS = 1.0
HEADER = "time,message,kind,side,price_cents,quantity"


def write_file(path: Path, seed: int) -> None:
    from marketdata.books.orderbook import OrderBook
    from tests.marketdata.fix.market import OPENING, next_message

    chance = random.Random(seed)
    book = OrderBook([])
    rows = [(1, side, price, 100) for side in (0, 1) for price in OPENING[side]]
    book.apply([(side, price, units) for _, side, price, units in rows])
    for number in range(2, MESSAGES + 1):
        rows += [(number, *change) for change in next_message(book, chance).changes]
    begin = datetime(2026, 3, 2, 9, tzinfo=UTC)
    lines = [HEADER]
    for number, side, price, units in rows:
        at = begin + timedelta(seconds=SECONDS * number / MESSAGES)
        name = ("bid", "ask")[side]
        lines.append(f"{at.isoformat()},{number},change,{name},{price},{units}")
    path.write_text("\n".join(lines) + "\n")


class Log:
    """The book as the log has it, read on after each replay."""

    def __init__(self, token: "Token") -> None:
        from marketdata.books.orderbook import OrderBook

        self.token = token
        self.book = OrderBook([])
        self.sequence = 0

    def states(self, depth: int) -> dict[int, "Ladder"]:
        """The book after each further message, by the number of its last change."""
        from marketdata.models import BookChange

        states = {self.sequence: self.book.ladder(depth)}
        message: list[tuple[int, int, int]] = []
        rows = BookChange.objects.filter(token=self.token, sequence__gt=self.sequence)
        columns = ("sequence", "side", "price_cents", "quantity", "ends_message")
        for sequence, *change, ends in rows.order_by("sequence").values_list(*columns):
            message.append(tuple(change))
            if ends:
                self.book.apply(message)
                message = []
                self.sequence = sequence
                states[sequence] = self.book.ladder(depth)
        return states


@contextmanager
def in_background(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of manage.py; it has ended well when this is left."""
    from django.conf import settings

    program = [sys.executable, str(settings.BASE_DIR / "manage.py"), *command]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL)
    yield process
    if process.wait():
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")


def replay(
    bench: "Bench", log: Log, file: Path, speed: float | None, depth: int
) -> Counter[str]:
    """What was seen of one replay."""
    from marketdata.fix.client.replica import Replica
    from tests.marketdata.fix.engines import market_data_request

    seen: Counter[str] = Counter()
    states: list[tuple[int, Ladder]] = []
    token = log.token
    replica = Replica(token.symbol)
    pace = [] if speed is None else [f"--speed={speed}"]
    with bench.initiator(is_numbered=True) as session:
        session.send("V", *market_data_request("R1", token.symbol, t264=depth))
        arguments = [str(file), f"--token={token.symbol}", "--clear", *pace]
        with in_background("book", "replay", *arguments) as replaying:
            heard = time.monotonic()
            while time.monotonic() - heard < QUIET_SECONDS:
                message = session.receive(0.1)
                if message is None or message.type not in "WX":
                    if replaying.poll() is None:
                        heard = time.monotonic()
                    continue
                heard = time.monotonic()
                replica.take(message, message.group(268))
                states.append((message.number(5083), replica.ladder()))
    known = log.states(depth)
    numbers = [number for number, _ in states]
    pairs = list(zip(numbers, numbers[1:], strict=False))
    seen["states"] = len(states)
    seen["jumps back"] = sum(after < before for before, after in pairs)
    seen["twice"] = sum(after == before for before, after in pairs)
    seen["other books"] = sum(known.get(n) != ladder for n, ladder in states)
    seen["not at the end"] = int(replica.ladder() != log.book.ladder(depth))
    return seen


def simulate(bench: "Bench", token: "Token", events: int) -> Counter[str]:
    """What the stock dictionary says of each message of a simulated market."""
    from tests.marketdata.fix.engines import market_data_request
    from tests.marketdata.fix.stock import DICTIONARY, fix

    seen: Counter[str] = Counter()

    def judge(raw: bytes) -> None:
        seen["messages"] += 1
        try:
            DICTIONARY.validate(fix.Message(raw.decode(), DICTIONARY, True))
        except Exception as fault:  # noqa: BLE001
            # QuickFIX has no common base of what it raises.
            seen["faults"] += 1
            seen[f"{type(fault).__name__}: {fault}"] += 1

    with bench.initiator(on_receive=judge) as session:
        session.hears_states = True
        entry_types = "0124579B8"
        session.send(
            "V", *market_data_request("R1", token.symbol, entry_types=entry_types)
        )
        session.send("x", (320, "L1"), (559, 4), (263, 1))
        session.send("g", (335, "G1"), (263, 1))
        session.send("e", (324, "E1"), (263, 1), (55, token.symbol))
        session.send("c", (320, "C1"), (321, 0), (55, token.symbol))
        options = [
            f"--events={events}",
            f"--token={token.symbol}",
            f"--rate={EVENTS_PER_SECOND}",
        ]
        with in_background("simulate_market", *options) as simulating:
            while session.receive(QUIET_SECONDS) or simulating.poll() is None:
                pass
    return seen


def measure(replays: int, events: int) -> dict[str, Any]:
    from django.conf import settings

    from tests.marketdata.fix.engines import running_engine
    from tests.marketdata.fix.market import new_token

    settings.FIX_CONFLATION_MS = 0
    seen: Counter[str] = Counter()
    token, simulated = new_token("LUM"), new_token("SIM")
    log = Log(token)
    log.states(0)
    kinds = list(product(SPEEDS, DEPTHS))
    with tempfile.TemporaryDirectory() as directory, running_engine() as bench:
        file = Path(directory) / "book.csv"
        for number in range(replays):
            speed, depth = kinds[number % len(kinds)]
            write_file(file, number)
            seen += replay(bench, log, file, speed, depth)
        day = simulate(bench, simulated, events)
    wrong = ("jumps back", "twice", "other books", "not at the end")
    return {
        "replays": {"replays": replays}
        | dict(seen)
        | {name: seen[name] for name in wrong},
        "simulation": {"faults": 0} | day,
        "right": not day["faults"] and not any(seen[name] for name in wrong),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.marketdata.fix.replays",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--replays", type=int, default=240)
    parser.add_argument("--events", type=int, default=150_000, help="of the simulation")
    options = parser.parse_args()
    with throw_away_installation():
        report = measure(options.replays, options.events)
    sys.stdout.write(json.dumps(report) + "\n")
    if not report["right"]:
        sys.exit("not as the log, or not valid")


if __name__ == "__main__":
    main()

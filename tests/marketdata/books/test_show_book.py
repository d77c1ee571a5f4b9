import codecs
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from rich.console import Console

from issuers.models import Token
from marketdata.books.log import Deal, Message, record
from marketdata.books.orderbook import ASK, BID, Change, Ladder, Level
from marketdata.management.book_screen import BookScreen, depth_that_fits
from partnerapi.core.times import to_rfc3339
from tests.characters import START, Ask, World
from tests.issuers.register import new_issuer, past
from tests.waiting import PATIENCE_SECONDS, until

ACTOR = "market@example.com"


def traded(issuer, symbol: str = "TRD") -> Token:
    with past(issuer):
        return Token.objects.create(
            issuer=issuer,
            name="Ordinary shares",
            symbol=symbol,
            market_type=Token.MarketType.SECONDARY_MARKET,
            created_at=START,
        )


OPENING = Message(
    [
        Change(BID, 99_900, 100),
        Change(BID, 99_850, 1_250),
        Change(ASK, 100_000, 40),
        Change(ASK, 100_050, 5),
        Change(ASK, 100_100, 625),
    ]
)


@pytest.fixture
def token(world: World) -> Token:
    return traded(world.listed)


def show(*arguments: str) -> str:
    output = io.StringIO()
    call_command("book", "show", *arguments, stdout=output)
    return output.getvalue()


def test_one_plain_ladder_where_there_is_no_terminal(token: Token):
    record(token.pk, [OPENING], ACTOR)
    sold = Message([Change(ASK, 100_000, 30)], [Deal(100_000, 10)])
    recorded = record(token.pk, [sold, Message((), [Deal(99_950, 1)])], ACTOR)
    shown = show("trd", "--depth", "2").splitlines()
    assert shown[:3] == [
        "TRD  Ordinary shares",
        f"change 6, {recorded.at:%Y-%m-%d %H:%M:%S} UTC",
        "",
    ]
    clock = f"{recorded.at:%H:%M:%S}"
    assert [re.sub("[█▏▎▍▌▋▊▉]+ *", "| ", line).rstrip() for line in shown[3:]] == [
        "        price  units                          trades       price     units",
        f"ask  1,000.50      5  | {clock}    999.50         1",
        f"ask  1,000.00     30  | {clock}  1,000.00        10",
        "     spread 1.00 (0.10%)",
        "bid    999.00    100  |",
        "bid    998.50  1,250  |",
    ]
    bars = [re.sub("[^█▏▎▍▌▋▊▉]", "", line) for line in shown[4:]]
    assert [len(line) for line in bars] == [1, 1, 0, 2, 22]


def test_the_answer_of_the_api_as_json(token: Token, partner: Ask):
    recorded = record(token.pk, [OPENING], ACTOR)
    for depth in (None, 1, 50):
        shown = json.loads(
            show("TRD", "--json", *(["--depth", str(depth)] * bool(depth)))
        )
        answer = partner(
            "query ($id: ID!, $depth: Int) { token(id: $id) { symbol orderBook("
            "depth: $depth) { sequence at bids { price quantity } "
            "asks { price quantity } } } }",
            {"id": f"Token|{token.pk}", "depth": depth},
        )
        found = answer.data["token"]
        assert shown == {"symbol": found["symbol"], **found["orderBook"]}
        assert shown["at"] == to_rfc3339(recorded.at)


def test_a_book_that_never_changed(token: Token):
    assert show("TRD", "--depth", "1").splitlines() == [
        "TRD  Ordinary shares",
        "change 0, never changed",
        "",
        "     price  units",
        "",
        "     empty",
    ]
    assert json.loads(show("TRD", "--json")) == {
        "symbol": "TRD",
        "sequence": 0,
        "at": "2024-01-01T12:00:00Z",
        "bids": [],
        "asks": [],
    }


def test_names_tokens_without_a_book(world: World):
    with pytest.raises(CommandError) as refused:
        show("NOPE")
    assert str(refused.value) == (
        "There is no token NOPE. The admin lists tokens with their symbols."
    )
    with pytest.raises(CommandError) as refused:
        show("LUM")
    assert str(refused.value) == (
        "LUM is not on the secondary market and has no order book; "
        "market open-secondary LUM opens one."
    )


@pytest.mark.parametrize("depth", ["0", "-1", "x"])
def test_refuses_depths_that_make_no_sense(depth: str):
    with pytest.raises(CommandError, match="--depth"):
        call_command("book", "show", "TRD", f"--depth={depth}")


@pytest.mark.parametrize("width", [20, 40, 68, 80, 200])
def test_fits_whatever_the_width(width: int):
    levels = tuple(Level(10**9 - n, 10**6 + n) for n in range(30))
    above = tuple(Level(10**9 + 1 + n, 10**6 + n) for n in range(30))
    screen = BookScreen("LONG" * 5, "n" * 90, 1, START, Ladder(levels, above), (), 9)
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(screen)
    lines = captured.get().splitlines()
    assert len(lines) == 2 * 9 + 5
    assert max(map(len, lines)) <= width
    assert depth_that_fits(24) == 9
    assert depth_that_fits(len(lines)) == 9
    assert depth_that_fits(3) == 1


def test_bars_are_plain_signs_where_the_terminal_has_no_others():
    ladder = Ladder((Level(99, 4),), (Level(101, 1),))
    screen = BookScreen("TRD", "", 1, START, ladder, (), 1)
    with io.TextIOWrapper(io.BytesIO(), encoding="ascii") as file:
        Console(file=file, width=40, color_system=None).print(screen)
        file.seek(0)
        bars = [re.sub("[^#]", "", line) for line in file]
    assert list(map(len, bars)) == [0, 0, 0, 0, 5, 0, 19]


class Terminal:
    """A command in a terminal of 80×24, on the tests' database."""

    def __init__(self, *arguments: str) -> None:
        database = urlsplit(os.environ["DATABASE_URL"])
        name = connection.settings_dict["NAME"]
        environment = os.environ | {
            "DATABASE_URL": database._replace(path=f"/{name}").geturl(),
            "TERM": "xterm",
        }
        environment.pop("NO_COLOR", None)
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, settings.BASE_DIR / "manage.py", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
        )
        os.close(slave)
        self.seen = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()

    def read_until(self, text: str) -> None:
        def has_come() -> bool:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    pytest.fail(f"It has ended: {self.process.communicate()[1]}")
                self.seen += self.decoder.decode(data)
            return text in self.seen

        if text not in self.seen:
            until(has_come, lambda: self.seen)

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.read_until(" s: changes")
        _, errors = self.process.communicate(timeout=PATIENCE_SECONDS)
        assert (self.process.returncode, errors) == (0, "")


@pytest.fixture
def terminal(transactional_db: None) -> Iterator[Terminal]:
    record(traded(new_issuer(), "LIVE").pk, [OPENING], ACTOR)
    terminal = Terminal("book", "show", "LIVE")
    yield terminal
    terminal.process.kill()
    terminal.process.wait()
    os.close(terminal.master)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_lives_in_a_terminal_until_it_is_told_to_end(number: int, terminal: Terminal):
    terminal.read_until("998.50")
    # On the terminal's other screen, in colours, as high as the terminal.
    assert "\x1b[?1049h" in terminal.seen
    assert "\x1b[31m1,000.00" in terminal.seen
    assert "\x1b[32m  999.00" in terminal.seen
    assert "1,000.75" not in terminal.seen
    token = Token.objects.get(symbol="LIVE")
    record(
        token.pk,
        [Message([Change(ASK, 100_000, 0)], [Deal(100_000, 40)])],
        ACTOR,
    )
    record(token.pk, [Message([Change(ASK, 100_075, 3)])], ACTOR)
    terminal.read_until("1,000.75")
    terminal.read_until("trades")
    terminal.end(number)
    assert re.search(r"LIVE in [0-9]+ s: changes 2, trades 1\.", terminal.seen)
    assert "\x1b[?1049l" in terminal.seen

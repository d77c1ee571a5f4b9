"""Engines of others, with what they bring along, against the acceptor."""

import json
import os
import subprocess
from collections.abc import Callable

import pytest

from issuers.models import Token
from marketdata.books.log import Message, record
from marketdata.books.orderbook import BID, Change, Ladder, Level
from marketdata.trading import market as markets
from marketdata.trading.busts import bust
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.interop.programs import ENGINES, Command
from tests.marketdata.fix.market import ladder_of, moving
from tests.marketdata.fix.trader import COMP_ID, Trader
from tests.marketdata.trading.trading import buy, placed, sell
from tests.waiting import PATIENCE_SECONDS, PROGRAM_SECONDS

MOVED = "moved\n"
LAST = Change(BID, 1, 1)
"""Far from all others: what a program waits for to end."""


@pytest.mark.parametrize("engine", ENGINES)
def test_rebuilds_the_books_while_the_market_moves(
    engine: Callable[[str], Command], acceptor: Acceptor, market: Market
):
    tokens = [market.listed, market.unnumbered]
    program = start(engine("client"), acceptor, tokens)
    try:
        with moving(*tokens):
            lines = iter(program.stdout.readline, "")
            assert MOVED in lines, program.communicate()
        for token in tokens:
            record(token.pk, [Message([LAST])], "tests")
        output, errors = program.communicate(timeout=PATIENCE_SECONDS)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, errors) == (0, "")
    [described] = [line for line in output.splitlines() if line.startswith("{")]
    told = json.loads(described)
    assert told["instruments"] == ["LUM", "ORB"]
    assert told["updates"] >= 20
    for token in tokens:
        assert ladder(told["books"][token.symbol]) == ladder_of(token)


@pytest.mark.parametrize("engine", ENGINES)
def test_reports_of_a_drop_copy_are_read_without_a_reject(
    engine: Callable[[str], Command],
    start_acceptor: Callable[..., Acceptor],
    trader: Trader,
):
    acceptor = start_acceptor()
    token, login = trader.token, trader.partner.login
    order = placed(token, sell(trader.seller, 5, 104, client_order_id="one"))
    markets.amend(order.pk, order.version, login, quantity=4)
    trader.trade(2)
    markets.cancel_each(token.pk, [order.pk], "BY_PARTNER", login)
    placed(token, buy(trader.buyer, 5, 99, time_in_force="FOK"))
    bust(token.pk, 1, "A mistake", "staff@example.com", "other@example.com")
    events = trader.events()
    address = [acceptor.host, str(acceptor.port), COMP_ID, acceptor.comp_id]
    ran = subprocess.run(
        [*engine("copy"), *address, str(len(events))],
        env=os.environ | {"FIX_KEY": trader.key},
        capture_output=True,
        text=True,
        timeout=PROGRAM_SECONDS,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    [described] = [line for line in ran.stdout.splitlines() if line.startswith("[[")]
    told = json.loads(described)
    assert [int(exec_id) for exec_id, *_ in told] == events
    assert [type_ for _, type_, *_ in told] == list("0500FF404HH")
    assert "rejects our message" not in acceptor.log.read_text()


def start(
    command: Command, acceptor: Acceptor, tokens: list[Token]
) -> subprocess.Popen[str]:
    member = acceptor.members[0]
    address = [acceptor.host, str(acceptor.port), member.comp_id, acceptor.comp_id]
    return subprocess.Popen(
        [*command, *address, *(token.symbol for token in tokens)],
        env=os.environ | {"FIX_KEY": member.key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ladder(book: dict[str, dict[str, int]]) -> Ladder:
    """The book as a program printed it: quantities by prices such as "9.95"."""
    bids, asks = (
        [Level(round(float(price) * 100), units) for price, units in book[side].items()]
        for side in "01"
    )
    return Ladder(tuple(sorted(bids, reverse=True)), tuple(sorted(asks)))

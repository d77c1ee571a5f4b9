"""Engines of others, with what they bring along, against the acceptor."""

import json
import os
import subprocess
from collections.abc import Callable

import pytest

from issuers.models import Token
from marketdata.books.log import Message, record
from marketdata.books.orderbook import BID, Change, Ladder, Level
from tests.marketdata.fix.acceptor_process import Acceptor
from tests.marketdata.fix.conftest import Market
from tests.marketdata.fix.interop.programs import ENGINES, Command
from tests.marketdata.fix.market import ladder_of, moving
from tests.waiting import PATIENCE_SECONDS

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

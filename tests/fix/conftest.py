import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from issuers.models import Token
from tests.fix.acceptor import Acceptor, running_acceptor
from tests.fix.market import Member, new_member, new_token


@dataclass
class Market:
    """`listed` has an ISIN, `unnumbered` has none, `hidden` nobody may see."""

    listed: Token
    unnumbered: Token
    hidden: Token
    members: list[Member]


@pytest.fixture
def market(transactional_db: None) -> Market:
    return Market(
        new_token("LUM", "FR0000120271"),
        new_token("ORB"),
        new_token("HID", hidden=True),
        [new_member(1), new_member(2)],
    )


@pytest.fixture
def start_acceptor(market: Market, tmp_path: Path) -> Iterator[Callable[..., Acceptor]]:
    """Starts an acceptor with the settings that are given; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def start(**environment: str) -> Acceptor:
            log = tmp_path / "acceptor.log"
            running = running_acceptor(log, market.members, **environment)
            return stack.enter_context(running)

        yield start


@pytest.fixture
def acceptor(start_acceptor: Callable[..., Acceptor]) -> Acceptor:
    return start_acceptor()

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from issuers.models import Issuer, Token
from marketdata.books.feed import Feed
from tests.issuers.register import new_issuer


@pytest.fixture
def issuer() -> Issuer:
    return new_issuer()


@pytest.fixture
def listed(issuer: Issuer) -> Callable[[str], Token]:
    """Moves a token with this symbol to the secondary market."""

    def bring(symbol: str) -> Token:
        return Token.objects.create(
            issuer=issuer,
            name=f"Shares {symbol}",
            symbol=symbol,
            market_type=Token.MarketType.SECONDARY_MARKET,
        )

    return bring


@pytest.fixture
def token(listed: Callable[[str], Token]) -> Token:
    return listed("LUM")


@pytest.fixture
def started() -> Iterator[Callable[..., Feed]]:
    """Starts feeds, and stops them before the tables are emptied."""
    feeds = []

    def start(token_ids: list[UUID] | None = None) -> Feed:
        feed = Feed(token_ids)
        feed.start()
        feeds.append(feed)
        return feed

    yield start
    for feed in feeds:
        feed.stop()
        assert not feed.is_alive


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds between two looks, so many that no look happens in a test."""
    monkeypatch.setattr("marketdata.books.feed.LOOK_SECONDS", 100_000.0)
    return 100_000.0


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> float:
    """Seconds between two looks, for tests that wait for one."""
    monkeypatch.setattr("marketdata.books.feed.LOOK_SECONDS", 0.1)
    return 0.1
